/*
 * The commit protocol of package checkpoint: one partition, its row in the
 * store, and everybody who ever claimed it. See doc/model.md for which step is
 * which function.
 *
 * Bounds: ITEMS items, CLAIMS claims, LATE requests that outlived their sender's
 * patience at one time. Failed saves, lost answers and nacks are not counted:
 * there may be any number of them until the faults stop (calm).
 */
#ifndef ITEMS
#define ITEMS 2
#endif
#ifndef CLAIMS
#define CLAIMS 3
#endif
#ifndef LATE
#define LATE 1
#endif

/* What a save writes: a position and whether it is complete. */
#define CONTENT(pos, complete) ((pos) * 2 + (complete))
#define POS(c) ((c) / 2)
#define COMPLETE(c) ((c) % 2)

#define ALL ((1 << ITEMS) - 1)         /* the set of all items */
#define UPTO(pos) ((1 << (pos)) - 1)   /* the set of the items up to pos */

/*
 * HOLD is an assertion that says which promise it belongs to. The bits are 0, but
 * with ONLY all others are not looked at.
 */
#if defined(ONLY)
#define UNLESS(n) (ONLY != n)
#else
#define UNLESS(n) 0
#endif
bit C1 = UNLESS(1), C2 = UNLESS(2), C3 = UNLESS(3), C4 = UNLESS(4), C5 = UNLESS(5);
#define HOLD(promise, e) assert((e) || promise)

#define NONE 0 /* not opened yet */
#define LIVE 1 /* reads, acks and saves, whether or not it is still the owner */
#define LOST 2 /* was told ErrFenced */
#define GONE 3 /* crashed */
#define DONE 4 /* completion is durable */

#define IDLE 0
#define REQUEST 1 /* sent, the store has not seen it */
#define OK 2      /* applied, the answer is on its way */
#define REFUSED 3

typedef Lane {
	byte st;
	byte fence;
	byte from;  /* the position that it resumed behind */
	byte read;  /* the newest item that it tracked */
	byte acked; /* the set of the items that it settled */
	byte front; /* the frontier: the end of the longest settled prefix */
	bit sealed;
	byte saved; /* durable as far as the store told it */
	byte tried; /* the content of the last request */
	byte rev;   /* the revision of the last request */
	byte wire;
	bit idle    /* waits for an ack; only in a mutant */
};

typedef Request {
	byte owner; /* 0: a free slot */
	byte fence;
	byte rev;
	byte content
};

typedef Row {
	bit exists;
	byte fence;
	byte owner;
	byte rev;
	byte content
};

Lane lane[CLAIMS + 1]; /* by owner, from 1 */
Request late[LATE];
Row row;

byte newest;    /* the owner of the last claim that was applied */
byte delivered; /* the set of the items whose delivery somebody acked */
#if defined(LIVENESS)
bit ends; /* the partition has an end, as a closed shard has */
bit calm; /* the faults have stopped */
#else
#define ends 1
#define calm 0
#endif

#define SETTLED(a, i) (lane[a].acked & (1 << (i)))

/* The longest settled prefix, as the tracker finds it. */
#if defined(BUG_COMMIT_WHAT_WAS_READ)
#define COUNTS(a, i) true
#elif defined(BUG_COMMIT_HIGHEST_ACK)
#define COUNTS(a, i) (lane[a].acked >> (i))
#else
#define COUNTS(a, i) SETTLED(a, i)
#endif

inline advance(a) {
	do
	:: lane[a].front < lane[a].read && COUNTS(a, lane[a].front) -> lane[a].front++
	:: else -> break
	od
}

/* What a save would write. */
#if defined(BUG_COMPLETE_WHEN_EMPTY)
#define FINISHED(a) (lane[a].front == lane[a].read)
#elif defined(BUG_COMPLETE_WHEN_SEALED)
#define FINISHED(a) lane[a].sealed
#else
#define FINISHED(a) (lane[a].sealed && lane[a].front == lane[a].read)
#endif
#define DRAFT(a) CONTENT(RESTS(lane[a].front), FINISHED(a))

/* With HELD the last item has no position, as the last page of a segment: its settlement completes. */
#if defined(HELD)
#define END (ITEMS - 1)
#define RESTS(f) (f == ITEMS -> END : f)
#else
#define END ITEMS
#define RESTS(f) f
#endif

/* The condition of Save, and the promises about what it lets through. */
#if defined(BUG_SAVE_STRICTLY_NEWER)
#define NEWER(r) (row.rev < (r))
#elif defined(BUG_SAVE_IGNORES_REVISION)
#define NEWER(r) true
#else
#define NEWER(r) (row.rev <= (r))
#endif
#if defined(BUG_SAVE_IGNORES_OWNER)
#define OWNED(o) true
#else
#define OWNED(o) (row.owner == (o))
#endif
#if defined(BUG_SAVE_IGNORES_FENCE)
#define CLAIMED(o, f) row.exists
#elif defined(BUG_SAVE_CREATES_THE_ROW)
#define CLAIMED(o, f) (!row.exists || row.fence == (f) && OWNED(o))
#else
#define CLAIMED(o, f) (row.exists && row.fence == (f) && OWNED(o))
#endif
#if defined(BUG_SAVE_REOPENS)
#define REOPENS(c) false
#else
#define REOPENS(c) (COMPLETE(row.content) && !COMPLETE(c))
#endif

#if defined(BUG_UNCONDITIONAL_SAVE)
#define APPLIES(o, f, r, c) true
#else
#define APPLIES(o, f, r, c) (CLAIMED(o, f) && NEWER(r) && !REOPENS(c))
#endif

inline apply(who, claim, number, what, answer) {
	if
	:: APPLIES(who, claim, number, what) ->
		HOLD(C3, (who) == newest);
		HOLD(C1, (delivered & UPTO(POS(what))) == UPTO(POS(what)));
		HOLD(C2, POS(what) >= POS(row.content));
		HOLD(C4, !COMPLETE(what) || (POS(what) == END && delivered == ALL));
		HOLD(C4, COMPLETE(what) || !COMPLETE(row.content));
#if defined(BUG_SAVE_CREATES_THE_ROW)
		if
		:: row.exists
		:: else -> row.exists = 1; row.fence = claim; row.owner = who
		fi;
#endif
		row.content = what;
		row.rev = number;
		answer = OK
	:: else ->
		/* Only the guard above all guards is tested so: see doc/model.md. */
		HOLD(C4, !(CLAIMED(who, claim) && NEWER(number) && REOPENS(what)));
		answer = REFUSED
	fi
}

inline persisted(a, c) {
	HOLD(C5, a != newest || !row.exists || (POS(c) <= POS(row.content) && COMPLETE(c) <= COMPLETE(row.content)));
	lane[a].saved = c
}

/* What a lane knew is forgotten with it: fewer states. */
inline leave(a, state) {
	lane[a].fence = 0; lane[a].from = 0; lane[a].read = 0; lane[a].acked = 0;
	lane[a].front = 0; lane[a].sealed = 0;
	lane[a].saved = 0; lane[a].tried = 0; lane[a].rev = 0; lane[a].wire = IDLE; lane[a].idle = 0;
	lane[a].st = state
}

inline outlive(a, k) {
	late[k].owner = a;
	late[k].fence = lane[a].fence;
	late[k].rev = lane[a].rev;
	late[k].content = lane[a].tried
}

#if defined(BUG_PERSIST_BEFORE_WRITE)
#define SENT(a) persisted(a, lane[a].tried)
#else
#define SENT(a) skip
#endif

#if defined(BUG_NO_RETRY)
#define FAILED(a) lane[a].wire = IDLE; lane[a].idle = 1
#else
#define FAILED(a) lane[a].wire = IDLE
#endif

/* A free slot for a late request, or LATE. */
#if LATE > 1
#define SLOT (late[0].owner == 0 -> 0 : (late[1].owner == 0 -> 1 : LATE))
#else
#define SLOT (late[0].owner == 0 -> 0 : LATE)
#endif

/* Somebody can claim after a, or has. */
#define MORE_CLAIMS(a) ((a) < newest || (a) < CLAIMS)

#if defined(BUG_NACK_SETTLES)
#define NACKED(a, i) lane[a].acked = lane[a].acked | (1 << i); advance(a); lane[a].idle = 0
#else
#define NACKED(a, i) skip
#endif

/* Ack and nack of one item; a nack leaves everything as it is. */
#define ACKS(a, i) \
	:: d_step { lane[a].st == LIVE && i >= lane[a].from && i < lane[a].read && !SETTLED(a, i) -> \
		lane[a].acked = lane[a].acked | (1 << i); \
		delivered = delivered | (1 << i); \
		advance(a); \
		lane[a].idle = 0 } \
	:: d_step { lane[a].st == LIVE && i >= lane[a].from && i < lane[a].read && !SETTLED(a, i) && !calm -> \
		NACKED(a, i) }

proctype holder(byte a) {
	byte c, k;

end:	do
	/* Open: in the order of their numbers, at any moment, whoever else lives. */
#if defined(BUG_CLAIM_READS_FIRST)
	:: atomic { lane[a].st == NONE && newest == a - 1 -> c = row.content };
	   d_step { newest == a - 1 ->
#else
	:: d_step { lane[a].st == NONE && newest == a - 1 -> c = row.content;
#endif
		newest = a;
		row.exists = 1;
		row.owner = a;
		row.fence++;
#if !defined(BUG_CLAIM_KEEPS_REVISION)
		row.rev = 0;
#endif
		if
#if !defined(BUG_OPEN_IGNORES_COMPLETE)
		:: COMPLETE(c) -> lane[a].st = DONE
#endif
		:: else ->
			lane[a].st = LIVE;
			lane[a].fence = row.fence;
			lane[a].from = POS(c);
			lane[a].read = POS(c);
			lane[a].front = POS(c);
			lane[a].saved = CONTENT(POS(c), 0);
			lane[a].tried = CONTENT(POS(c), 0)
		fi;
		c = 0 }
	/* The answer of the claim is lost: the caller claims again. */
	:: d_step { lane[a].st == NONE && newest == a - 1 && a < CLAIMS && !calm ->
		newest = a;
		row.exists = 1;
		row.owner = a;
		row.fence++;
		row.rev = 0;
		lane[a].st = GONE }

	/* Track and Seal. */
	:: d_step { lane[a].st == LIVE && !lane[a].sealed && lane[a].read < ITEMS ->
		HOLD(C4, a != newest || !COMPLETE(row.content));
		lane[a].read++;
#if defined(BUG_COMMIT_WHAT_WAS_READ)
		advance(a);
#endif
		skip }
	:: d_step { lane[a].st == LIVE && !lane[a].sealed && lane[a].read == ITEMS && ends ->
		lane[a].sealed = 1;
		lane[a].idle = 0 }

	/* The sink, in any order. */
	ACKS(a, 0)
	ACKS(a, 1)
	ACKS(a, 2)
	ACKS(a, 3)

	/* The flusher: one save at a time; the same content keeps its revision. */
	:: d_step { lane[a].st == LIVE && lane[a].wire == IDLE && !lane[a].idle && DRAFT(a) != lane[a].saved ->
		if
		:: lane[a].tried != DRAFT(a) ->
			lane[a].tried = DRAFT(a);
#if !defined(BUG_SAME_REVISION)
			lane[a].rev++
#endif
		:: else
		fi;
		lane[a].wire = REQUEST;
		SENT(a) }
	:: d_step { lane[a].wire == REQUEST ->
		HOLD(C4, !COMPLETE(lane[a].tried) || lane[a].sealed);
		apply(a, lane[a].fence, lane[a].rev, lane[a].tried, lane[a].wire);
		/* Lost only because of a newer claim, or because the row is gone. */
		HOLD(C3, lane[a].wire == OK || a != newest || !row.exists);
		/* To lose the answer "refused" is to ask again: the same as not to have asked. */
		if
		:: lane[a].wire == REFUSED -> leave(a, LOST)
		:: else
		fi }
	:: d_step { lane[a].wire == OK ->
		lane[a].wire = IDLE;
#if defined(BUG_PERSIST_THE_NEWEST)
		persisted(a, DRAFT(a));
#else
		persisted(a, lane[a].tried);
#endif
		if
		:: COMPLETE(lane[a].saved) -> leave(a, DONE)
		:: else
		fi }

	/* Faults. A request that nobody waits for any more is dropped, or stays. */
	:: d_step { lane[a].wire != IDLE && !calm -> FAILED(a) }
	:: d_step { lane[a].wire == REQUEST && !calm && SLOT != LATE ->
		k = SLOT; outlive(a, k); k = 0; FAILED(a) }
	:: d_step { lane[a].st == LIVE && MORE_CLAIMS(a) && !calm -> leave(a, GONE) }
	:: d_step { lane[a].st == LIVE && MORE_CLAIMS(a) && !calm && lane[a].wire == REQUEST && SLOT != LATE ->
		k = SLOT; outlive(a, k); k = 0; leave(a, GONE) }
	od
}

inline forget(k) {
	late[k].owner = 0; late[k].fence = 0; late[k].rev = 0; late[k].content = 0
}

/* The network between the holders and the store, and the operator. */
proctype world() {
	byte k, r;
#if defined(DELETES)
	bit deleted;
#endif
#if defined(LIVENESS)
	if
	:: ends = 1
	:: ends = 0
	fi;
#endif
end:	do
	/* A late request is applied, perhaps again and again, or never. */
	:: d_step { late[0].owner != 0 -> k = 0;
		apply(late[k].owner, late[k].fence, late[k].rev, late[k].content, r);
		r = 0;
		if
		:: calm -> forget(k)
		:: else
		fi }
	:: d_step { late[0].owner != 0 -> k = 0; forget(k) }
#if LATE > 1
	:: d_step { late[1].owner != 0 -> k = 1;
		apply(late[k].owner, late[k].fence, late[k].rev, late[k].content, r);
		r = 0; k = 0;
		if
		:: calm -> forget(1)
		:: else
		fi }
	:: d_step { late[1].owner != 0 -> k = 1; forget(k); k = 0 }
#endif
#if defined(DELETES)
	/* The operator deletes the row once; whoever holds it is to open it again. */
	:: d_step { !deleted && !calm && row.exists && newest < CLAIMS ->
		deleted = 1;
		row.exists = 0; row.fence = 0; row.owner = 0; row.rev = 0; row.content = 0 }
#endif
#if defined(LIVENESS)
	:: d_step { !calm -> calm = 1 }
#endif
	od
}

init {
	byte a = 1;
	atomic {
		run world();
		do
		:: a <= CLAIMS -> run holder(a); a++
		:: else -> break
		od
	}
}

#if defined(LIVENESS)
/*
 * C5 as it shows in the end: once the faults have stopped, the newest owner's
 * frontier becomes durable, and completion where there is an end.
 */
#define FINAL CONTENT(END, ends)
ltl live { <> calm -> <> (newest == CLAIMS && row.content == FINAL) }
#endif
