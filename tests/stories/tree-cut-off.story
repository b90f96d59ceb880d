# Node 1 reads . and is cut off. Node 0 begins .a, speaks on it and leaves it again: nobody takes part any more who could
# tell 1. When their link stands again, 0 tells the names of what it once had to do with; 1 joins, asks, and gets it.
nodes 2 overlay=vcube ordering=causal repair=10
standing . 1
cut 0 1
subscribe 0 .a
publish 0 .a x
unsubscribe 0 .a
settle
----
0 confirm .a
0 deliver 0:1@.a "x"
0 settle 0:1@.a

mend 0 1
settle
----
0 -> 1 BELOW 0:0@.
1 -> 0 STATE 1:0@.
0 -> 1 STATE 0:0@.
1 -> 0 SUB 1:-1@.a
0 -> 1 ACK 1:-1@.a
1 -> 0 STATE 1:0@.a
0 -> 1 STATE 0:0@.a
1 -> 0 STATE 1:0@.a
0 -> 1 STATE 0:0@.a
0 -> 1 FILL 0:0@.a
1 deliver 0:1@.a "x"
