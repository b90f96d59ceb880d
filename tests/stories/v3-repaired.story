# V3, repaired: the same. Node 4 delivers nothing before its cut is known, and a cut that holds a message holds all that
# it follows: here all three are older than the subscription, and are skipped.
nodes 8 overlay=vcube ordering=causal
standing t 1 2
subscribe 4 t
carry 4 -> 0
carry 0 -> 1
publish 1 t a
carry 1 -> 2
----
4 -> 5 SUB 4:-1@t
4 -> 6 SUB 4:-1@t
4 -> 0 SUB 4:-1@t
0 -> 1 SUB 4:-1@t
0 -> 2 SUB 4:-1@t
1 -> 0 ACK 4:-1@t
1 deliver 1:1@t "a"
1 -> 2 PUB 1:1@t
1 -> 4 PUB 1:1@t
2 -> 1 ACK 1:1@t
2 deliver 1:1@t "a"

publish 2 t x1
carry 2 -> 1
carry 2 -> 1
carry 1 -> 2
----
2 spread 2:1@t following 1
2 deliver 2:1@t "x1"
2 -> 1 PUB 2:1@t
1 -> 2 ACK 2:1@t
1 deliver 2:1@t "x1"
2 settle 2:1@t

carry 0 -> 2
publish 2 t x2
carry 2 -> 4
----
2 -> 3 SUB 4:-1@t
2 spread 2:2@t following 1
2 deliver 2:2@t "x2"
2 -> 1 PUB 2:2@t
2 -> 4 PUB 2:2@t
4 -> 2 ACK 2:2@t

carry 1 -> 4
----
4 -> 1 ACK 1:1@t

settle
----
1 -> 2 ACK 2:2@t
1 deliver 2:2@t "x2"
1 settle 1:1@t
3 -> 2 ACK 4:-1@t
5 -> 4 ACK 4:-1@t
6 -> 7 SUB 4:-1@t
2 settle 2:2@t
2 -> 0 ACK 4:-1@t
7 -> 6 ACK 4:-1@t
0 -> 4 ACK 4:-1@t
6 -> 4 ACK 4:-1@t
4 -> 1 CUT 4:-2@t
1 -> 2 CUT 4:-2@t
2 -> 1 ACK 4:-2@t
1 -> 4 ACK 4:-2@t
4 confirm t
4 skip 2:2@t
4 skip 1:1@t
