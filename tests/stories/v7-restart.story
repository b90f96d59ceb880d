# V7, repaired: node 1 restarts without memory. What it says in its new life is newer than all it said before, and its
# first message is not taken for an old one.
nodes 2 overlay=vcube ordering=causal
standing t 0 1
publish 1 t one
publish 1 t two
settle
----
1 deliver 1:1@t "one"
1 -> 0 PUB 1:1@t
1 spread 1:2@t following 1
1 deliver 1:2@t "two"
1 -> 0 PUB 1:2@t
0 -> 1 ACK 1:1@t
0 deliver 1:1@t "one"
0 -> 1 ACK 1:2@t
0 deliver 1:2@t "two"
1 settle 1:1@t
1 settle 1:2@t

restart 1
publish 0 t are-you-there
settle
----
0 spread 0:1@t following 1
0 deliver 0:1@t "are-you-there"
0 -> 1 PUB 0:1@t
1 -> 0 GONE 0:1@t
1 skip 0:1@t
0 settle 0:1@t

subscribe 1 t
settle
----
1 -> 0 SUB 1.1:-1@t
0 -> 1 ACK 1.1:-1@t
1 -> 0 CUT 1.1:-2@t
0 -> 1 ACK 1.1:-2@t
1 confirm t

publish 1 t back
settle
----
1 deliver 1.1:1@t "back"
1 -> 0 PUB 1.1:1@t
0 -> 1 ACK 1.1:1@t
0 deliver 1.1:1@t "back"
1 settle 1.1:1@t
