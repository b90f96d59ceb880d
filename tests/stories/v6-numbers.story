# V6, repaired: numbers count per topic, so a receiver can see a gap; a message that overtakes another one waits.
nodes 2 overlay=vcube ordering=fifo
standing a 0 1
standing b 0 1
publish 0 a first
publish 0 b other
publish 0 a second
----
0 deliver 0:1@a "first"
0 -> 1 PUB 0:1@a
0 deliver 0:1@b "other"
0 -> 1 PUB 0:1@b
0 deliver 0:2@a "second"
0 -> 1 PUB 0:2@a

lose 0 -> 1
carry 0 -> 1
carry 0 -> 1
----
1 -> 0 ACK 0:1@b
1 deliver 0:1@b "other"
1 -> 0 ACK 0:2@a
