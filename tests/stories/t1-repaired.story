# T1, repaired. The manager of t is at node 0. Its reply to node 1 is lost, and node 1 asks again. It gets the same
# answer.
nodes 3 overlay=vcube ordering=total desks=1 retry=100
standing t 1 2
publish 1 t a
carry 1 -> 0
lose 0 -> 1
----
1 -> 0 ASK 1:1@t
0 -> 1 STAMP 1:1@t {t:1}

wake 1
settle
----
1 -> 0 ASK 1:1@t
0 -> 1 STAMP 1:1@t {t:1}
1 spread 1:1@t following 1
1 -> 2 PUB 1:1@t
1 deliver 1:1@t "a"
2 -> 1 ACK 1:1@t
2 deliver 1:1@t "a"
1 settle 1:1@t

publish 2 t b
settle
----
2 -> 0 ASK 2:1@t
0 -> 2 STAMP 2:1@t {t:2}
2 spread 2:1@t following 1
2 -> 1 PUB 2:1@t
2 deliver 2:1@t "b"
1 -> 2 ACK 2:1@t
1 deliver 2:1@t "b"
2 settle 2:1@t
