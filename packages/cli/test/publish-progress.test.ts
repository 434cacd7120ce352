import { expect, test } from 'vitest'
import { publish } from '../src/commands/publish.ts'
import { review } from '../src/commands/review.ts'
import type { CommandIo } from '../src/io.ts'

/** Publishes, or reviews, as in a terminal or in a pipe; returns what was said beside the outcome, and the outcome. */
async function published(isTerminal: boolean, more: object = {}, command: typeof publish | typeof review = publish) {
  const [progress, lines]: [string[], string[]] = [[], []]
  const into = (all: string[]) => ({
    isTerminal,
    paint: (_: string, text: string) => text,
    line: async (text: string) => void all.push(text),
  })
  const result = { branch: 'b', commitSha: 'c'.repeat(40) }
  const answers: Readonly<Record<string, object>> = {
    getSession: { session: { source: { baseBranch: 'main' } } },
    reviewRepository: {
      review: { revision: 'r', files: [], signals: [], ...more, additions: 0, deletions: 0, targetBranch: 'main' },
    },
    listVerifications: { verifications: [{ revision: 'v', state: 'passed' }] },
    getPublication: { publication: { id: 'p', status: 'succeeded', completedAt: 'now', result } },
  }
  const client = { call: async (operation: string) => answers[operation] }
  const io = { client, stdout: into(lines), stderr: into(progress) } as unknown as CommandIo
  return { code: await command('s', { title: 't', ...more }, io), progress, lines }
}

test('publishing and reviewing say in a terminal what is awaited, and nothing in a pipe or beside JSON', async () => {
  const steps = ['berth: reading the changes…', 'berth: publishing them…', 'berth: waiting for the Git host…']
  const done = 'publication p cccccccccccc pushed to b'
  expect(await published(true)).toEqual({ code: 0, progress: steps, lines: [done] })
  expect(await published(true, { revision: 'r' })).toMatchObject({ progress: steps })
  expect(await published(false)).toEqual({ code: 0, progress: [], lines: [done] })
  expect(await published(true, { json: true })).toMatchObject({ progress: [] })
  expect(await published(true, {}, review)).toMatchObject({ code: 0, progress: steps.slice(0, 1) })
  expect(await published(false, {}, review)).toMatchObject({ code: 0, progress: [] })
})

test('publishing says first what a reader must not miss, and what the text claims in vain; as JSON with the outcome', async () => {
  const lines = [{ side: 'after', number: 4 }]
  const signals = Array.from({ length: 12 }, (_, at) => ({
    kind: 'test_skipped',
    path: `${at}.ts\u001b`,
    count: 1,
    lines,
  }))
  const more = { body: 'All tests pass.', signals }
  const { code, progress, lines: outcome } = await published(false, more)
  expect([code, outcome.length, progress.length]).toEqual([0, 1, 12])
  expect(progress.slice(0, 2)).toEqual([
    'berth: ! not borne out: “All tests pass.”: no verification of this revision has passed',
    'berth: ! Test skipped: 0.ts␛:4',
  ])
  expect(progress.at(-1)).toBe('berth: ! and 2 more: `berth review s` shows them')
  expect((await published(false, { ...more, revision: 'v' })).progress).toHaveLength(11)
  const json = await published(true, { ...more, json: true })
  expect(json.progress).toEqual([])
  expect(JSON.parse(json.lines.join('\n'))).toMatchObject({
    ...{ id: 'p', status: 'succeeded', notBorneOut: [{ text: 'All tests pass.' }] },
    signals: signals.map(({ path }) => ({ path })),
  })
})

test('publishing with --base goes to the branch that the session started from, or says why not', async () => {
  expect(await published(false, { base: 'main' })).toMatchObject({ code: 0 })
  await expect(published(false, { base: 'next' })).rejects.toThrow(
    'the session started from main, and its changes go there; `berth run --base next` starts one from next',
  )
})

test('a dry run shows what would be published, with each sentence that the revision does not bear out', async () => {
  const body = 'All tests pass.\nUpdated `src/gone\u001b.ts` and `src/gone.ts`.\n- `src/gone.ts`: new'
  const lines = [
    'would publish revision r',
    '0 files as a pull request into main: t',
    '! not borne out: “All tests pass.”: no verification of this revision has passed',
    '! not borne out: “- `src/gone.ts`: new”: this revision does not change src/gone.ts',
  ]
  expect(await published(false, { body, dryRun: true })).toEqual({ code: 0, progress: [], lines })
  expect((await published(false, { body, dryRun: true, revision: 'v' })).lines.slice(2)).toEqual(lines.slice(3))
  const { lines: json } = await published(true, { body, dryRun: true, json: true })
  expect(JSON.parse(json.join('\n'))).toMatchObject({ revision: 'r', notBorneOut: [{}, { path: 'src/gone.ts' }] })
})
