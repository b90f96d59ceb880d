# V2, repaired: the cut tells node 3 that the question is older than its subscription, so that it need not wait for
# it (Figure 2, with p3).
nodes 4 overlay=vcube ordering=causal
standing t 0 1 2
publish 2 t question
settle
----
2 deliver 2:1@t "question"
2 -> 0 PUB 2:1@t
0 -> 1 PUB 2:1@t
0 deliver 2:1@t "question"
1 -> 0 ACK 2:1@t
1 deliver 2:1@t "question"
0 -> 2 ACK 2:1@t
2 settle 2:1@t

subscribe 3 t
settle
----
3 -> 2 SUB 3:-1@t
3 -> 1 SUB 3:-1@t
1 -> 0 SUB 3:-1@t
2 -> 3 ACK 3:-1@t
0 -> 1 ACK 3:-1@t
1 -> 3 ACK 3:-1@t
3 -> 2 CUT 3:-2@t
3 -> 1 CUT 3:-2@t
1 -> 0 CUT 3:-2@t
2 -> 3 ACK 3:-2@t
0 -> 1 ACK 3:-2@t
1 -> 3 ACK 3:-2@t
3 confirm t

publish 1 t answer
settle
----
1 spread 1:1@t following 1
1 deliver 1:1@t "answer"
1 -> 0 PUB 1:1@t
1 -> 3 PUB 1:1@t
0 -> 1 ACK 1:1@t
0 deliver 1:1@t "answer"
3 -> 2 PUB 1:1@t
3 deliver 1:1@t "answer"
2 -> 3 ACK 1:1@t
2 deliver 1:1@t "answer"
3 -> 1 ACK 1:1@t
1 settle 1:1@t
