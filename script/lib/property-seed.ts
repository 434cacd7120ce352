import fc from 'fast-check'

/**
 * Property tests draw the same cases in every run, so that a commit is judged by what it does and not by what was drawn.
 * `BERTH_TEST_SEED=random` draws others, to look for what is not known yet; a number draws those of a failure again.
 */
const seed = process.env['BERTH_TEST_SEED'] ?? '1'
if (seed !== 'random') fc.configureGlobal({ seed: Number(seed) })
