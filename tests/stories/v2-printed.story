# V2, printed: node 2 speaks, then falls silent; 3 joins; 1 answers 2. Node 3 waits for ever for a message that was
# published before it came (the paper's own Figure 2, with p3).
nodes 4 overlay=vcube-printed ordering=causal
standing t 0 1 2
publish 2 t question
settle
----
2 deliver 2:0@t "question"
2 -> 0 PUB 2:0@t
0 -> 1 PUB 2:0@t
0 deliver 2:0@t "question"
1 -> 0 ACK 2:0@t
1 deliver 2:0@t "question"
0 -> 2 ACK 2:0@t
2 settle 2:0@t

subscribe 3 t
settle
----
3 -> 2 SUB 3:0@t
3 -> 1 SUB 3:0@t
1 -> 0 SUB 3:0@t
2 -> 3 ACK 3:0@t
0 -> 1 ACK 3:0@t
1 -> 3 ACK 3:0@t
3 confirm t

publish 1 t answer
settle
----
1 spread 1:0@t following 1
1 deliver 1:0@t "answer"
1 -> 0 PUB 1:0@t
1 -> 3 PUB 1:0@t
0 -> 1 ACK 1:0@t
0 deliver 1:0@t "answer"
3 -> 2 PUB 1:0@t
2 -> 3 ACK 1:0@t
2 deliver 1:0@t "answer"
3 -> 1 ACK 1:0@t
1 settle 1:0@t
