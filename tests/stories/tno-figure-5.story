# Figure 5 of TNO: the network lags, and k (node 6) is notified of e2 before e1. It buffers e2 until e1 has come.
nodes 7 overlay=vcube ordering=total-printed desks=4
standing T1 4 5
standing T2 4 5 6
publish 4 T2 e1
carry 4 -> 1
carry 1 -> 0
carry 0 -> 4
----
4 -> 1 ASK 4:1@T2
1 -> 0 CLIMB 4:1@T2 {T2:1}
0 -> 4 STAMP 4:1@T2 {T1:0, T2:1}
4 spread 4:1@T2 following 2
4 -> 5 PUB 4:1@T2
4 -> 6 PUB 4:1@T2
4 deliver 4:1@T2 "e1"

publish 5 T2 e2
carry 5 -> 1
carry 1 -> 0
carry 0 -> 5
----
5 -> 1 ASK 5:1@T2
1 -> 0 CLIMB 5:1@T2 {T2:2}
0 -> 5 STAMP 5:1@T2 {T1:0, T2:2}
5 spread 5:1@T2 following 2
5 -> 4 PUB 5:1@T2
5 -> 6 PUB 5:1@T2

carry 5 -> 6
----
6 -> 5 ACK 5:1@T2

settle
----
4 -> 5 ACK 5:1@T2
4 deliver 5:1@T2 "e2"
5 -> 4 ACK 4:1@T2
5 deliver 4:1@T2 "e1"
5 deliver 5:1@T2 "e2"
6 -> 4 ACK 4:1@T2
6 deliver 4:1@T2 "e1"
6 deliver 5:1@T2 "e2"
4 settle 4:1@T2
5 settle 5:1@T2
