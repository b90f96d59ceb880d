# Figure 3, left: everybody has subscribed, node 0 publishes; the tree is rooted at the publisher.
nodes 8 overlay=vcube ordering=causal
standing t1 0 1 2 3 4 5 6 7
publish 0 t1 m0
----
0 deliver 0:1@t1 "m0"
0 -> 1 PUB 0:1@t1
0 -> 2 PUB 0:1@t1
0 -> 4 PUB 0:1@t1

settle
----
1 -> 0 ACK 0:1@t1
1 deliver 0:1@t1 "m0"
2 -> 3 PUB 0:1@t1
2 deliver 0:1@t1 "m0"
4 -> 5 PUB 0:1@t1
4 -> 6 PUB 0:1@t1
4 deliver 0:1@t1 "m0"
3 -> 2 ACK 0:1@t1
3 deliver 0:1@t1 "m0"
5 -> 4 ACK 0:1@t1
5 deliver 0:1@t1 "m0"
6 -> 7 PUB 0:1@t1
6 deliver 0:1@t1 "m0"
2 -> 0 ACK 0:1@t1
7 -> 6 ACK 0:1@t1
7 deliver 0:1@t1 "m0"
6 -> 4 ACK 0:1@t1
4 -> 0 ACK 0:1@t1
0 settle 0:1@t1
