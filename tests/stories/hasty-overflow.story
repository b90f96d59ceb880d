# A subscriber that holds back one message at most. The desk is node 0. a and b are numbered 1 and 2, and node 3 has b first.
# Half of its room is used: it asks for number 1. So does node 2, where a has not come either.
nodes 4 overlay=vcube ordering=total desks=1 buffer=1
standing news 1 2 3
publish 1 news a
carry 1 -> 0
carry 0 -> 1
publish 2 news b
carry 2 -> 0
carry 0 -> 2
carry 2 -> 3
----
1 -> 0 ASK 1:1@news
0 -> 1 STAMP 1:1@news {news:1}
1 spread 1:1@news following 1
1 -> 3 PUB 1:1@news
1 deliver 1:1@news "a"
2 -> 0 ASK 2:1@news
0 -> 2 STAMP 2:1@news {news:2}
2 spread 2:1@news following 1
2 -> 3 PUB 2:1@news
2 -> 1 PUB 2:1@news
2 -> 0 PULL 2:1@news {news:1}
3 -> 2 ACK 2:1@news
3 -> 0 PULL 3:1@news {news:1}

# c is number 3. Nobody has room for it who lacks a: b goes, number 1 is passed over, and c is the next one.
publish 2 news c
carry 2 -> 0
carry 2 -> 0
carry 0 -> 2
carry 0 -> 2
carry 2 -> 3
----
2 -> 0 ASK 2:2@news
0 -> 2 TOLD 1:1@news {news:1}
0 -> 1 STAMP 1:1@news {news:1}
0 -> 2 STAMP 2:2@news {news:3}
2 spread 2:2@news following 1
2 -> 3 PUB 2:2@news
2 -> 1 PUB 2:2@news
2 deliver 2:1@news "b"
2 deliver 2:2@news "c"
3 -> 2 ACK 2:2@news
3 deliver 2:1@news "b"
3 deliver 2:2@news "c"

# Now a comes to both. It is delivered at once, with the tag. Node 1 has everything in order.
settle
----
0 -> 3 TOLD 1:1@news {news:1}
0 -> 1 STAMP 1:1@news {news:1}
1 -> 2 ACK 2:1@news
1 deliver 2:1@news "b"
3 -> 2 PUB 1:1@news
3 deliver 1:1@news "a" out_of_order
1 -> 2 ACK 2:2@news
1 deliver 2:2@news "c"
2 settle 2:1@news
2 settle 2:2@news
2 -> 3 ACK 1:1@news
2 deliver 1:1@news "a" out_of_order
3 -> 1 ACK 1:1@news
1 settle 1:1@news
