# V1, repaired: as long as node 4 is a newcomer nobody gives it a subtree: the first member of the cluster takes it,
# and sends node 4 a copy of its own as soon as it has heard of it. 5 and 6 get the message.
nodes 8 overlay=vcube ordering=causal
standing t 0 5 6
subscribe 4 t
carry 4 -> 0
----
4 -> 5 SUB 4:-1@t
4 -> 6 SUB 4:-1@t
4 -> 0 SUB 4:-1@t
0 -> 1 SUB 4:-1@t
0 -> 2 SUB 4:-1@t

publish 0 t kept
----
0 deliver 0:1@t "kept"
0 -> 5 PUB 0:1@t

carry 0 -> 5
----
5 -> 6 PUB 0:1@t
5 deliver 0:1@t "kept"

settle
----
1 -> 0 ACK 4:-1@t
2 -> 3 SUB 4:-1@t
5 -> 4 ACK 4:-1@t
6 -> 7 SUB 4:-1@t
6 -> 5 ACK 0:1@t
6 deliver 0:1@t "kept"
3 -> 2 ACK 4:-1@t
5 -> 0 ACK 0:1@t
7 -> 6 ACK 4:-1@t
0 settle 0:1@t
2 -> 0 ACK 4:-1@t
6 -> 4 ACK 4:-1@t
0 -> 4 ACK 4:-1@t
4 -> 5 CUT 4:-2@t
4 -> 6 CUT 4:-2@t
4 -> 0 CUT 4:-2@t
0 -> 4 ACK 4:-2@t
5 -> 4 ACK 4:-2@t
6 -> 4 ACK 4:-2@t
4 confirm t
