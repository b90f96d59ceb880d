# Node 0 is cut off from the only other subscriber. What it says now, nobody else has: it is not settled, and goes out
# again when the link stands.
nodes 2 overlay=vcube ordering=causal repair=10
standing t 0 1
cut 0 1
publish 0 t a
settle
----
0 deliver 0:1@t "a"

mend 0 1
settle
----
0 -> 1 STATE 0:0@t
0 -> 1 PUB 0:1@t
1 -> 0 STATE 1:0@t
1 -> 0 STATE 1:0@t
1 -> 0 ACK 0:1@t
1 deliver 0:1@t "a"
0 settle 0:1@t
