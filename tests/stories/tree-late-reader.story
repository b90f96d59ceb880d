# Node 0 speaks on .a.b before anybody reads it. Node 1 subscribes to .a: its SUB comes back with the topics below, it
# joins them, and is told that its subscription stands when those do. It gets what is said from then on, and nothing
# older. When it leaves .a it leaves .a.b, too.
nodes 2 overlay=vcube ordering=causal
standing .a.b 0
publish 0 .a.b a
subscribe 1 .a
carry 1 -> 0
carry 0 -> 1
----
0 deliver 0:1@.a.b "a"
0 settle 0:1@.a.b
1 -> 0 SUB 1:-1@.a
0 -> 1 ACK 1:-1@.a
1 -> 0 SUB 1:-1@.a.b

settle
----
0 -> 1 ACK 1:-1@.a.b
1 -> 0 CUT 1:-2@.a.b
0 -> 1 ACK 1:-2@.a.b
1 confirm .a

publish 0 .a.b b
settle
----
0 spread 0:2@.a.b following 1
0 deliver 0:2@.a.b "b"
0 -> 1 PUB 0:2@.a.b
1 -> 0 ACK 0:2@.a.b
1 deliver 0:2@.a.b "b"
0 settle 0:2@.a.b

unsubscribe 1 .a
publish 0 .a.b c
settle
----
1 -> 0 UNS 1:-3@.a.b
0 spread 0:3@.a.b following 1
0 deliver 0:3@.a.b "c"
0 -> 1 PUB 0:3@.a.b
0 -> 1 ACK 1:-3@.a.b
1 -> 0 GONE 0:3@.a.b
1 skip 0:3@.a.b
0 settle 0:3@.a.b
