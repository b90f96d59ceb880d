# T4, printed. The manager of t, node 0, comes back without its state and numbers from 1 again: b is taken for an old
# one.
nodes 3 overlay=vcube ordering=total-printed desks=1
standing t 1 2
publish 1 t a
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

restart 0
publish 2 t b
settle
----
2 -> 0 ASK 2:1@t
0 -> 2 STAMP 2:1@t {t:1}
2 spread 2:1@t following 1
2 -> 1 PUB 2:1@t
2 skip 2:1@t
1 -> 2 ACK 2:1@t
1 skip 2:1@t
2 settle 2:1@t
