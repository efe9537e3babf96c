/*
 * The handoff of package backfill: attempts that plan, scan, settle, run the
 * completion hook, set the marker and read the stream, each of which may be
 * paused at any step, crash, and overlap with the others. See doc/model.md for
 * which step is which function.
 *
 * Bounds: ATTEMPTS attempts, plans of SEGMENTS segments at most, each of PAGES
 * pages; with RESTARTS a second generation. SEGMENTS=0 is a plan without
 * segments, whose pages are in nobody's checkpoint. How a segment's frontier
 * gets into its row is the other model's matter: here a save is one step.
 */
#ifndef ATTEMPTS
#define ATTEMPTS 2
#endif
#ifndef SEGMENTS
#define SEGMENTS 2
#endif
#ifndef PAGES
#define PAGES 1
#endif
#if defined(RESTARTS)
#define GENERATIONS 2
#else
#define GENERATIONS 1
#endif

/*
 * HOLD is an assertion that says which promise it belongs to. The bits are 0, but
 * with ONLY all others are not looked at.
 */
#if defined(ONLY)
#define UNLESS(n) (ONLY != n)
#else
#define UNLESS(n) 0
#endif
bit B1 = UNLESS(1), B2 = UNLESS(2), B4 = UNLESS(4), B7 = UNLESS(7), B8 = UNLESS(8);
#define HOLD(promise, e) assert((e) || promise)

/* Where an attempt stands. */
#define WAITING 0   /* not begun */
#define READS 1     /* Fresh: reads the rows */
#define PLANS 2     /* asks the source for a plan */
#define CLAIMS 3    /* claims the plan's row */
#define SAVES 4     /* saves the plan */
#define READS2 5    /* reads the rows again */
#define CLEARS 6    /* deletes rows of older generations */
#define PREPARES 7  /* claims the plan's row */
#define PREPARED 8  /* saves that the plan is prepared */
#define BEGINS 9    /* claims the done row */
#define CHECKS 10   /* reads the rows behind the claim */
#define OPENS 11    /* claims the segments */
#define SCANS 12    /* Backfilling */
#define SETTLES 13  /* Settling: the barrier */
#define NOTES 14    /* Settling: what is settled is durable */
#define COMPLETES 15
#define STREAMS 16
#define STREAMED 17 /* has read from the stream */
#define OVER 18     /* crashed, failed or superseded */

typedef Plan {
	byte owner; /* of the last claim; 0: no row */
	bit saved;
	bit prepared;
	bit restart; /* it carries the restart word */
	byte n;      /* segments */
	bit tardy    /* the anchor was captured after a page had been read */
};
typedef Done {
	byte owner; /* 0: no row; its fence is the attempt's number */
	bit marked
};
typedef Segment {
	byte owner; /* 0: no row */
	byte pos;   /* pages behind the frontier */
	bit complete
};
#define ROWS 2 /* segments' rows a generation */

/* Generations count from 1, so do attempts; segments from 0. */
Plan plan[GENERATIONS + 1];
Done done[GENERATIONS + 1];
Segment seg[(GENERATIONS + 1) * ROWS];
#if defined(BUG_ROWS_WITHOUT_GENERATION)
#define SEG(g, s) seg[s]
#else
#define SEG(g, s) seg[(g) * ROWS + (s)]
#endif

typedef Attempt {
	byte pc;
	byte g;        /* its generation */
	byte n;        /* segments of its plan */
	bit tardy;     /* its plan's anchor */
	bit restart;   /* it wants a new generation, and so its plan says */
	byte claimed;  /* the set of the segments that it has claimed */
	byte closed;   /* the set of the segments that it need not read any more */
	byte read;     /* the set of the pages that it read, or resumed behind */
	byte settled;  /* the set of the pages that are settled, or were before */
	bit hooked
};
Attempt at[ATTEMPTS + 1];
byte last; /* the newest attempt that has begun */

/* What happened once, by generation: nobody in the model reads it but HOLD. */
byte delivered[GENERATIONS + 1]; /* the set of the pages */
bit durable[GENERATIONS + 1];    /* the plan */
byte planned[GENERATIONS + 1];   /* its segments */
bit begun[GENERATIONS + 1];      /* a page was read */
bit returned[GENERATIONS + 1];   /* the hook, with nil */
bit marked[GENERATIONS + 1];     /* the marker */

#if defined(LIVENESS)
bit calm; /* the faults have stopped */
#else
#define calm 0
#endif

/* A plan without segments is one sequence of pages that no row knows. */
#define PARTS(n) ((n) == 0 -> 1 : (n))
#define PAGE(s, p) (1 << ((s) * PAGES + (p)))
#define ALLOF(n) ((1 << (PARTS(n) * PAGES)) - 1)
#define OPEN(a) (at[a].read & ~at[a].settled)

#define ALIVE(a) (at[a].pc != WAITING && at[a].pc != OVER)

/* The newest generation with a plan. */
#if GENERATIONS > 1
#define STANDING (plan[2].saved -> 2 : (plan[1].saved -> 1 : 0))
/* The newest generation of any row but a plan that was never saved. */
#define ROWOF(g) (plan[g].saved || done[g].owner || SEG(g, 0).owner || SEG(g, 1).owner)
#define HIGHEST (ROWOF(2) -> 2 : (ROWOF(1) -> 1 : 0))
#else
#define STANDING (plan[1].saved -> 1 : 0)
#define HIGHEST STANDING
#endif
/* The rows say that a is the newest attempt of the newest generation. */
#define CURRENT(a) (STANDING == at[a].g && done[at[a].g].owner == a)

/* Every segment of the plan is complete, as the store says. */
#define COMPLETE(g, n) ((n) > 0 && SEG(g, 0).complete && ((n) < 2 || SEG(g, 1).complete))

inline leave(a) {
	at[a].g = 0; at[a].n = 0; at[a].tardy = 0; at[a].restart = 0; at[a].claimed = 0; at[a].closed = 0;
	at[a].read = 0; at[a].settled = 0; at[a].hooked = 0;
	at[a].pc = OVER
}

/* Everything that start decides from one list of the rows. */
inline decide(a) {
	if
#if GENERATIONS > 1
	:: STANDING == 0 || (at[a].restart && STANDING < GENERATIONS && !plan[STANDING].restart) ->
		at[a].g = HIGHEST + 1; at[a].pc = PLANS
#else
	:: STANDING == 0 -> at[a].g = 1; at[a].pc = PLANS
#endif
#if defined(BUG_PLANS_AGAIN)
	:: STANDING != 0 && !done[1].marked -> at[a].g = 1; at[a].pc = PLANS
#endif
	:: else ->
		at[a].g = STANDING;
		at[a].pc = (plan[STANDING].prepared -> BEGINS : CLEARS)
	fi
}

#if defined(BUG_CONFIG_WINS)
#define SEGMENTSOF(g) (a == 1 -> SEGMENTS : 1)
#else
#define SEGMENTSOF(g) plan[g].n
#endif

inline resume(a) {
	at[a].n = SEGMENTSOF(at[a].g);
	at[a].tardy = plan[at[a].g].tardy;
	if
	:: done[at[a].g].marked -> at[a].pc = STREAMS
	:: !done[at[a].g].marked && COMPLETE(at[a].g, at[a].n) -> at[a].pc = COMPLETES
	:: else -> at[a].pc = (at[a].n == 0 -> SCANS : OPENS)
	fi
}

/* The barrier opens. */
#if defined(BUG_HOOK_BEFORE_SETTLED)
#define BARRIER(a) true
#elif defined(BUG_LATE_ACKS_COUNT)
bit late; /* an ack of an attempt that is over came to this one's gate */
#define BARRIER(a) (OPEN(a) == 0 || late)
#elif defined(BUG_GATE_OUTLIVES_ATTEMPT)
bit left; /* an attempt ended with batches out */
#define BARRIER(a) (OPEN(a) == 0 && !left)
#else
#define BARRIER(a) (OPEN(a) == 0)
#endif

#if defined(BUG_CONFIRM_FROM_MEMORY) || defined(BUG_HOOK_BEFORE_SETTLED)
#define CONFIRMED(a) true
#else
#define CONFIRMED(a) (at[a].n == 0 || COMPLETE(at[a].g, at[a].n))
#endif

/* Frontier and completion of a segment in an attempt; its last page has no position. */
#define PART(a, s) ((at[a].settled >> ((s) * PAGES)) & ((1 << PAGES) - 1))
#if PAGES > 1
#define FRONT(a, s) (PART(a, s) & 1)
#else
#define FRONT(a, s) 0
#endif
#define READALL(a, s) (((at[a].read >> ((s) * PAGES)) & ((1 << PAGES) - 1)) == (1 << PAGES) - 1)
#if defined(BUG_COMPLETE_WHEN_READ)
#define FINISHED(a, s) READALL(a, s)
#else
#define FINISHED(a, s) (PART(a, s) == (1 << PAGES) - 1)
#endif
/* There is something to save that the row does not hold yet. */
#define UNSAVED(a, s) ((at[a].claimed & (1 << (s))) && !(at[a].closed & (1 << (s))) && \
	(FINISHED(a, s) || FRONT(a, s) > SEG(at[a].g, s).pos || SEG(at[a].g, s).owner != a))
#define BUSY(a) (at[a].pc == SCANS || at[a].pc == SETTLES)

#define ALLREAD(a) (at[a].read == ALLOF(at[a].n))

/* What is the same for every segment. */
#if defined(BUG_SCAN_AGAIN)
#define RESUMES 0
#else
#define RESUMES 1
#endif
#define ONSEGMENT(a, s) \
	:: d_step { at[a].pc == OPENS && s < at[a].n && !(at[a].claimed & (1 << s)) -> \
		SEG(at[a].g, s).owner = a; \
		at[a].claimed = at[a].claimed | (1 << s); \
		if \
		:: RESUMES && SEG(at[a].g, s).complete -> \
			at[a].closed = at[a].closed | (1 << s); \
			at[a].read = at[a].read | (((1 << PAGES) - 1) << (s * PAGES)); \
			at[a].settled = at[a].settled | (((1 << PAGES) - 1) << (s * PAGES)) \
		:: RESUMES && !SEG(at[a].g, s).complete && SEG(at[a].g, s).pos > 0 -> \
			at[a].read = at[a].read | PAGE(s, 0); \
			at[a].settled = at[a].settled | PAGE(s, 0) \
		:: else \
		fi; \
		if \
		:: at[a].claimed == (1 << at[a].n) - 1 -> at[a].pc = SCANS \
		:: else \
		fi } \
	/* The Committer saves, or finds out that the segment is lost. */ \
	:: d_step { BUSY(a) && UNSAVED(a, s) -> \
		if \
		:: SEG(at[a].g, s).owner == a -> \
			SEG(at[a].g, s).pos = FRONT(a, s); \
			if \
			:: FINISHED(a, s) -> \
				SEG(at[a].g, s).complete = 1; \
				at[a].closed = at[a].closed | (1 << s) \
			:: else \
			fi \
		:: else -> at[a].claimed = at[a].claimed & ~(1 << s) \
		fi } \
	/* A scan, or an ack, that meets the loss ends the attempt. */ \
	:: d_step { BUSY(a) && at[a].n > s && !(at[a].claimed & (1 << s)) && (!READALL(a, s) || OPEN(a) != 0) -> over(a) }

#if defined(BUG_NACK_IS_DELIVERY)
#define NACKED(a, s, p) at[a].settled = at[a].settled | PAGE(s, p)
#else
#define NACKED(a, s, p) skip
#endif

#define ONPAGE(a, s, p) \
	:: d_step { at[a].pc == SCANS && s < PARTS(at[a].n) && !(at[a].read & PAGE(s, p)) && \
		(p == 0 || (at[a].read & PAGE(s, 0))) && (at[a].n == 0 || (at[a].claimed & (1 << s))) -> \
		HOLD(B1, durable[at[a].g]); \
		HOLD(B7, !(returned[at[a].g] && COMPLETE(at[a].g, at[a].n)) || SEG(at[a].g, s).owner != a); \
		HOLD(B8, at[a].n == 0 || SEG(at[a].g, s).owner != a || \
			(!SEG(at[a].g, s).complete && p >= SEG(at[a].g, s).pos)); \
		begun[at[a].g] = 1; \
		at[a].read = at[a].read | PAGE(s, p) } \
	:: d_step { BUSY(a) && (OPEN(a) & PAGE(s, p)) -> \
		at[a].settled = at[a].settled | PAGE(s, p); \
		delivered[at[a].g] = delivered[at[a].g] | PAGE(s, p) } \
	/* A nack leaves the batch out. */ \
	:: d_step { BUSY(a) && (OPEN(a) & PAGE(s, p)) && !calm -> NACKED(a, s, p) }

#if defined(BUG_GATE_OUTLIVES_ATTEMPT)
#define over(a) left = left || (OPEN(a) != 0); leave(a)
#else
#define over(a) leave(a)
#endif

/*
 * An attempt may begin whoever else lives: with TOGETHER only while less than two
 * do. Where the last attempt must succeed it is alone.
 */
#if defined(TOGETHER)
#define MAYBEGIN(a) (a < 3 || !ALIVE(1) || !ALIVE(2))
#elif defined(LIVENESS)
#define MAYBEGIN(a) (a < ATTEMPTS || ALONE)
#else
#define MAYBEGIN(a) true
#endif
#if ATTEMPTS > 2
#define ALONE (!ALIVE(1) && !ALIVE(2))
#else
#define ALONE (!ALIVE(1))
#endif

proctype attempt(byte a) {
end:	do
	/* start: planned */
	:: d_step { at[a].pc == WAITING && last == a - 1 && MAYBEGIN(a) -> last = a; at[a].pc = READS }
#if defined(RESTARTS)
	:: d_step { at[a].pc == WAITING && last == a - 1 && MAYBEGIN(a) && a > 1 ->
		last = a; at[a].restart = 1; at[a].pc = READS }
#endif
	:: d_step { at[a].pc == READS -> decide(a) }
	:: d_step { at[a].pc == PLANS ->
		at[a].tardy = begun[at[a].g];
#if defined(BUG_READ_BEFORE_PLAN)
		at[a].n = SEGMENTS; at[a].pc = OPENS
#else
		at[a].pc = CLAIMS
#endif
	   }
	:: d_step { at[a].pc == CLAIMS ->
		plan[at[a].g].owner = a;
#if defined(BUG_PLANS_AGAIN)
		at[a].pc = SAVES
#else
		at[a].pc = (plan[at[a].g].saved -> READS2 : SAVES)
#endif
	   }
	:: d_step { at[a].pc == SAVES && plan[at[a].g].owner == a ->
		plan[at[a].g].saved = 1;
		plan[at[a].g].n = (a == 1 -> SEGMENTS : (SEGMENTS > 0)); /* the configuration changes */
		plan[at[a].g].tardy = at[a].tardy;
		plan[at[a].g].restart = at[a].restart;
		plan[at[a].g].prepared = (at[a].g == 1);
		durable[at[a].g] = 1;
		planned[at[a].g] = plan[at[a].g].n;
		at[a].pc = READS2 }
	:: d_step { (at[a].pc == SAVES || at[a].pc == PREPARED) && plan[at[a].g].owner != a -> over(a) }
	:: d_step { at[a].pc == READS2 ->
		at[a].g = STANDING;
		at[a].pc = (plan[STANDING].prepared -> BEGINS : CLEARS) }
#if defined(RESTARTS)
	:: d_step { at[a].pc == CLEARS && done[1].owner != 0 -> done[1].owner = 0; done[1].marked = 0 }
	:: d_step { at[a].pc == CLEARS && done[1].owner == 0 && plan[1].owner != 0 ->
		plan[1].owner = 0; plan[1].saved = 0; plan[1].prepared = 0; plan[1].restart = 0;
		plan[1].n = 0; plan[1].tardy = 0 }
	:: d_step { at[a].pc == CLEARS && done[1].owner == 0 && plan[1].owner == 0 ->
		seg[2].owner = 0; seg[2].pos = 0; seg[2].complete = 0;
		seg[3].owner = 0; seg[3].pos = 0; seg[3].complete = 0;
		at[a].pc = PREPARES }
	:: d_step { at[a].pc == PREPARES ->
		plan[at[a].g].owner = a;
		at[a].pc = (plan[at[a].g].prepared -> BEGINS : PREPARED) }
	:: d_step { at[a].pc == PREPARED && plan[at[a].g].owner == a -> plan[at[a].g].prepared = 1; at[a].pc = BEGINS }
#endif

	/* start: begin, and the look behind the claim */
#if defined(BUG_NO_LOOK_BEHIND_THE_CLAIM)
	:: atomic { at[a].pc == BEGINS -> resume(a) };
	   if
	   :: d_step { at[a].pc != OVER -> done[at[a].g].owner = a }
	   :: at[a].pc == OVER
	   fi
#else
	:: d_step { at[a].pc == BEGINS -> done[at[a].g].owner = a; at[a].pc = CHECKS }
#endif
	:: d_step { at[a].pc == CHECKS && CURRENT(a) -> resume(a) }
	:: d_step { at[a].pc == CHECKS && !CURRENT(a) -> over(a) }

	/* Backfilling */
	ONSEGMENT(a, 0)
	ONPAGE(a, 0, 0)
#if PAGES > 1
	ONPAGE(a, 0, 1)
#endif
#if SEGMENTS > 1
	ONSEGMENT(a, 1)
	ONPAGE(a, 1, 0)
#if PAGES > 1
	ONPAGE(a, 1, 1)
#endif
#endif
	:: d_step { at[a].pc == SCANS && ALLREAD(a) -> at[a].pc = SETTLES }

	/* Settling: the barrier, confirm, note */
	:: d_step { at[a].pc == SETTLES && BARRIER(a) && CURRENT(a) && CONFIRMED(a) -> at[a].pc = NOTES }
	:: d_step { at[a].pc == SETTLES && BARRIER(a) && CURRENT(a) && !CONFIRMED(a) && !UNSAVED(a, 0) && !UNSAVED(a, 1) ->
		over(a) }
#if !defined(BUG_NEVER_ASKS_WHO_IS_CURRENT)
	:: d_step { at[a].pc == SETTLES && !CURRENT(a) -> over(a) }
#endif
	:: d_step { at[a].pc == NOTES && done[at[a].g].owner == a -> at[a].pc = COMPLETES }
	:: d_step { at[a].pc == NOTES && done[at[a].g].owner != a -> over(a) }

	/* Completing: the hook, then the marker */
#if defined(BUG_MARK_BEFORE_HOOK)
#define MAYHOOK(a) (done[at[a].g].owner == a && done[at[a].g].marked)
#define MAYMARK(a) true
#else
#define MAYHOOK(a) true
#define MAYMARK(a) at[a].hooked
#endif
	:: d_step { at[a].pc == COMPLETES && !at[a].hooked && MAYHOOK(a) ->
		HOLD(B4, OPEN(a) == 0);
		HOLD(B2, delivered[at[a].g] == ALLOF(planned[at[a].g]));
		HOLD(B2, at[a].n > 0 || ALLREAD(a));
		HOLD(B2, at[a].n == 0 || COMPLETE(at[a].g, at[a].n) || !CURRENT(a)); /* a new generation deletes them */
		/* Nobody can keep a paused attempt from running it late: see doc/model.md. */
		HOLD(B7, !marked[at[a].g] || !CURRENT(a));
		at[a].hooked = 1;
		returned[at[a].g] = 1 }
	:: d_step { at[a].pc == COMPLETES && MAYMARK(a) && done[at[a].g].owner == a && !done[at[a].g].marked ->
		done[at[a].g].marked = 1;
		marked[at[a].g] = 1 }
	:: d_step { at[a].pc == COMPLETES && at[a].hooked && done[at[a].g].owner == a && done[at[a].g].marked -> at[a].pc = STREAMS }
	:: d_step { at[a].pc == COMPLETES && at[a].hooked && done[at[a].g].owner != a -> over(a) }

	/* Streaming */
#if defined(BUG_STREAM_BEFORE_MARKER)
	:: d_step { (at[a].pc == STREAMS || (at[a].pc == COMPLETES && at[a].hooked)) ->
#else
	:: d_step { at[a].pc == STREAMS ->
#endif
		HOLD(B1, !at[a].tardy);
		HOLD(B2, returned[at[a].g] && marked[at[a].g]);
		HOLD(B7, returned[at[a].g]);
		at[a].pc = STREAMED }

	/* A store that fails, its answer lost or not: Read begins its step again, or from the start. */
	:: d_step { !calm && (at[a].pc == SAVES || at[a].pc == READS2 || at[a].pc == CLEARS || at[a].pc == PREPARES ||
		at[a].pc == PREPARED || at[a].pc == CHECKS || at[a].pc == OPENS) ->
		at[a].g = 0; at[a].n = 0; at[a].tardy = 0; at[a].claimed = 0; at[a].closed = 0;
		at[a].read = 0; at[a].settled = 0;
		at[a].pc = READS }
	/* A crash at any point; what streams comes to an end some day. */
	:: d_step { ALIVE(a) && a < ATTEMPTS && (!calm || at[a].pc == STREAMED) -> over(a) }
#if defined(BUG_LATE_ACKS_COUNT)
	:: d_step { at[a].pc == OVER && a < last -> late = 1 }
#endif
	od
}

init {
	byte a = 1;
	atomic {
		do
		:: a <= ATTEMPTS -> run attempt(a); a++
		:: else -> break
		od
	}
#if defined(LIVENESS)
	calm = 1
#endif
}

#if defined(LIVENESS)
/* Once the faults have stopped, some attempt reads the stream. */
ltl live { <> calm -> <> (at[ATTEMPTS].pc == STREAMED) }
#endif
