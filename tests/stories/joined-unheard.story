# Node 1 subscribes while it is cut off from 0, and is confirmed: as far as it knows, nobody else takes part. Their link
# stands again, and 0 speaks before it has heard of 1. Its message is not settled before 1 has said where it stands, and
# then not before 1 has it.
nodes 2 overlay=vcube ordering=causal repair=10
standing t 0
cut 0 1
subscribe 1 t
----
1 confirm t

mend 0 1
publish 0 t a
----
0 -> 1 STATE 0:0@t
1 -> 0 STATE 1:0@t
0 deliver 0:1@t "a"

settle
----
0 -> 1 STATE 0:0@t
0 -> 1 PUB 0:1@t
1 -> 0 STATE 1:0@t
1 -> 0 ACK 0:1@t
1 deliver 0:1@t "a"
0 settle 0:1@t
