# T3, repaired. The manager of t is at node 0. Node 3 subscribes, and dies when its subscription is on record. It took
# no number.
nodes 4 overlay=vcube ordering=total desks=1
standing t 1 2
subscribe 3 t
carry 3 -> 2
carry 3 -> 1
carry 1 -> 0
carry 2 -> 3
carry 0 -> 1
carry 1 -> 3
carry 3 -> 2
carry 3 -> 1
carry 1 -> 3
carry 2 -> 3
carry 3 -> 0
----
3 -> 2 SUB 3:-1@t
3 -> 1 SUB 3:-1@t
2 -> 3 ACK 3:-1@t
1 -> 0 SUB 3:-1@t
0 -> 1 ACK 3:-1@t
1 -> 3 ACK 3:-1@t
3 -> 2 CUT 3:-2@t
3 -> 1 CUT 3:-2@t
2 -> 3 ACK 3:-2@t
1 -> 3 ACK 3:-2@t
3 -> 0 CHANGE 3:-1@t
0 -> 3 ADMIT 3:-1@t {t:0}

crash 3
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
