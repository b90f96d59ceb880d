# The link from 1 to 3 lost a, and b has come. Node 3 would hold b back for 100.
nodes 4 overlay=vcube ordering=total desks=1 ttl=100 repair=10
standing news 1 2 3
publish 1 news a
carry 1 -> 0
carry 0 -> 1
lose 1 -> 3
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
3 -> 2 ACK 2:1@news

# Neighbours compare what they have. That link loses this, too; node 3 has told both of its own once, and is silent now.
wake 1 repair
lose 1 -> 3
wake 3 repair
lose 3 -> 1
wake 3 repair
settle
----
1 -> 3 STATE 1:0@news
3 -> 1 STATE 3:0@news
3 -> 2 STATE 3:0@news
1 -> 2 ACK 2:1@news
1 deliver 2:1@news "b"
2 settle 2:1@news

# After half of its time node 3 asks whose number 1 is. Its publisher is there, so a must be somewhere.
later 50
wake 3 ordering/haste
carry 3 -> 0
carry 0 -> 3
----
3 -> 0 PULL 3:1@news {news:1}
0 -> 3 TOLD 1:1@news {news:1}
0 -> 1 STAMP 1:1@news {news:1}

# So they compare again, and a comes in time: nothing is tagged.
wake 3 repair
carry 3 -> 1
carry 1 -> 3
----
3 -> 1 STATE 3:0@news
1 -> 3 FILL 1:0@news
3 deliver 1:1@news "a"
3 deliver 2:1@news "b"
