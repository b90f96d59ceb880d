# Node 1 reads .a, and then .a.b as well, in which it takes part already: that stands at once. What 0 says there comes to
# it once. It leaves .a.b, and still reads it by .a; it leaves .a, and reads nothing any more.
nodes 2 overlay=vcube ordering=fifo
standing .a 1
standing .a.b 0
subscribe 1 .a.b
publish 0 .a.b x
settle
----
1 confirm .a.b
0 deliver 0:1@.a.b "x"
0 -> 1 PUB 0:1@.a.b
1 -> 0 ACK 0:1@.a.b
1 deliver 0:1@.a.b "x"
0 settle 0:1@.a.b

unsubscribe 1 .a.b
publish 0 .a.b y
settle
----
0 deliver 0:2@.a.b "y"
0 -> 1 PUB 0:2@.a.b
1 -> 0 ACK 0:2@.a.b
1 deliver 0:2@.a.b "y"
0 settle 0:2@.a.b

unsubscribe 1 .a
publish 0 .a.b z
settle
----
1 -> 0 UNS 1:-2@.a.b
0 deliver 0:3@.a.b "z"
0 -> 1 PUB 0:3@.a.b
0 -> 1 ACK 1:-2@.a.b
1 -> 0 GONE 0:3@.a.b
1 skip 0:3@.a.b
0 settle 0:3@.a.b
