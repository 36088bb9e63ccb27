import random

TEXT = """the old harbour was quiet in the morning and the boats moved a little with the tide
a man with a grey coat walked along the wall and counted the boats one by one
he wrote the number in a small book and closed the book and looked at the water
there was no wind that day and the sails hung down like wet paper
later the children came down the hill with their nets and their buckets
they shouted to each other and the birds rose from the roofs and circled and settled again
the market opened at nine and the smell of bread came down the narrow street
nobody bought fish on a monday because the fish was old by then
the man with the grey coat bought bread and an apple and sat on the wall to eat
when the bell rang he stood up and put the book in his pocket and went home"""


class Dictionary:
    def __init__(self):
        self.word2idx, self.idx2word = {}, []

    def add(self, w):
        if w not in self.word2idx:
            self.word2idx[w] = len(self.idx2word)
            self.idx2word.append(w)
        return self.word2idx[w]


class Corpus:
    def __init__(self, min_vocab=20000, length=200_000, seed=11):
        self.dictionary = Dictionary()
        words = TEXT.split()
        for w in words:
            self.dictionary.add(w)
        rnd = random.Random(seed)
        while len(self.dictionary.idx2word) < min_vocab:
            self.dictionary.add(rnd.choice(words) + "_" + str(len(self.dictionary.idx2word)))
        self.train = [rnd.randrange(min_vocab) for _ in range(length)]
        self.valid = [rnd.randrange(min_vocab) for _ in range(length // 10)]
