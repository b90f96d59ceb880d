# V5, repaired: a window of waves, and what queues meanwhile goes out as one wave.
nodes 2 overlay=vcube ordering=fifo
standing t 0 1
publish 0 t 1
publish 0 t 2
publish 0 t 3
publish 0 t 4
publish 0 t 5
publish 0 t 6
publish 0 t 7
publish 0 t 8
publish 0 t 9
publish 0 t 10
publish 0 t 11
----
0 deliver 0:1@t "1"
0 -> 1 PUB 0:1@t
0 deliver 0:2@t "2"
0 -> 1 PUB 0:2@t
0 deliver 0:3@t "3"
0 -> 1 PUB 0:3@t
0 deliver 0:4@t "4"
0 -> 1 PUB 0:4@t
0 deliver 0:5@t "5"
0 -> 1 PUB 0:5@t
0 deliver 0:6@t "6"
0 -> 1 PUB 0:6@t
0 deliver 0:7@t "7"
0 -> 1 PUB 0:7@t
0 deliver 0:8@t "8"
0 -> 1 PUB 0:8@t
0 deliver 0:9@t "9"
0 deliver 0:10@t "10"
0 deliver 0:11@t "11"

carry 0 -> 1
carry 1 -> 0
----
1 -> 0 ACK 0:1@t
1 deliver 0:1@t "1"
0 settle 0:1@t
0 -> 1 PUB 0:9@t x3

settle
----
1 -> 0 ACK 0:2@t
1 deliver 0:2@t "2"
0 settle 0:2@t
1 -> 0 ACK 0:3@t
1 deliver 0:3@t "3"
0 settle 0:3@t
1 -> 0 ACK 0:4@t
1 deliver 0:4@t "4"
0 settle 0:4@t
1 -> 0 ACK 0:5@t
1 deliver 0:5@t "5"
0 settle 0:5@t
1 -> 0 ACK 0:6@t
1 deliver 0:6@t "6"
0 settle 0:6@t
1 -> 0 ACK 0:7@t
1 deliver 0:7@t "7"
0 settle 0:7@t
1 -> 0 ACK 0:8@t
1 deliver 0:8@t "8"
0 settle 0:8@t
1 -> 0 ACK 0:9@t
1 deliver 0:9@t "9"
1 deliver 0:10@t "10"
1 deliver 0:11@t "11"
0 settle 0:9@t x3
