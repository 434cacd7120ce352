import fc from 'fast-check'

/**
 * Makes property tests draw the same cases in every run, so that only a change of the code changes their result.
 * `BERTH_TEST_SEED=random` draws new cases to search for faults; a number repeats the cases of a failure.
 */
const seed = process.env['BERTH_TEST_SEED'] ?? '1'
if (seed !== 'random') fc.configureGlobal({ seed: Number(seed) })
