# Node 2 stands for the cluster of 2 and 3 in the tree of 0. It dies with the message: 0 gives the cluster to 3, and the
# message is settled without the dead. When 2 comes back, it has forgotten everything, and everybody knows.
nodes 4 overlay=vcube ordering=causal repair=10
standing t 0 1 2 3
publish 0 t a
crash 2
settle
----
0 deliver 0:1@t "a"
0 -> 1 PUB 0:1@t
0 -> 2 PUB 0:1@t
0 -> 3 PUB 0:1@t
1 -> 0 ACK 0:1@t
1 deliver 0:1@t "a"
3 -> 0 ACK 0:1@t
3 deliver 0:1@t "a"
0 settle 0:1@t

restart 2
mend 2 0
mend 2 1
mend 2 3
settle
----
0 -> 2 STATE 0:0@t
1 -> 2 STATE 1:0@t
3 -> 2 STATE 3:0@t
2 -> 0 STATE 2.1:0@t
2 -> 1 STATE 2.1:0@t
2 -> 3 STATE 2.1:0@t

publish 0 t b
settle
----
0 spread 0:2@t following 1
0 deliver 0:2@t "b"
0 -> 1 PUB 0:2@t
0 -> 3 PUB 0:2@t
1 -> 0 ACK 0:2@t
1 deliver 0:2@t "b"
3 -> 0 ACK 0:2@t
3 deliver 0:2@t "b"
0 settle 0:2@t
