# Node 1 reads . and is cut off from 0, which begins .a.b and speaks. When their link stands again 0 says where it stands:
# so 1 hears that there is such a topic. It joins it, with no cut, and gets what it missed, when neighbours next compare.
nodes 2 overlay=vcube ordering=causal repair=10
standing . 1
cut 0 1
subscribe 0 .a.b
publish 0 .a.b x
settle
----
0 confirm .a.b
0 deliver 0:1@.a.b "x"
0 settle 0:1@.a.b

mend 0 1
settle
----
0 -> 1 STATE 0:0@.a.b
1 -> 0 STATE 1:0@.
0 -> 1 STATE 0:0@.
1 -> 0 SUB 1:-1@.a.b
1 -> 0 STATE 1:0@.a.b
0 -> 1 ACK 1:-1@.a.b
1 -> 0 STATE 1:0@.a.b
1 -> 0 CUT 1:-2@.a.b
0 -> 1 STATE 0:0@.a.b
0 -> 1 ACK 1:-2@.a.b
1 -> 0 STATE 1:0@.a.b

wake 0
settle
----
0 -> 1 STATE 0:0@.a.b
1 -> 0 STATE 1:0@.a.b
0 -> 1 FILL 0:0@.a.b
1 deliver 0:1@.a.b "x"

publish 0 .a.b y
settle
----
0 spread 0:2@.a.b following 1
0 deliver 0:2@.a.b "y"
0 -> 1 PUB 0:2@.a.b
1 -> 0 ACK 0:2@.a.b
1 deliver 0:2@.a.b "y"
0 settle 0:2@.a.b
