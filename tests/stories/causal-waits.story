# Node 2 gets the answer before the question, and waits for the question.
nodes 4 overlay=vcube ordering=causal
standing t 0 1 2
publish 0 t question
carry 0 -> 1
publish 1 t answer
----
0 deliver 0:1@t "question"
0 -> 1 PUB 0:1@t
0 -> 2 PUB 0:1@t
1 -> 0 ACK 0:1@t
1 deliver 0:1@t "question"
1 spread 1:1@t following 1
1 deliver 1:1@t "answer"
1 -> 0 PUB 1:1@t
1 -> 2 PUB 1:1@t

carry 1 -> 2
----
2 -> 1 ACK 1:1@t

carry 0 -> 2
----
2 -> 0 ACK 0:1@t
2 deliver 0:1@t "question"
2 deliver 1:1@t "answer"
