/**
 * Measures how long a Session is sealed after a Run that changed 20 of 3 000 files, on a repository, whose changes become a
 * revision meanwhile, and without one, where the seal is alone. Run as: node bench/run-end.ts [rounds]
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Session } from '@berth/contract'
import { localRepository } from '../packages/testing/src/git/local-repository.ts'
import { startTestService } from '../packages/testing/src/services/service.ts'
import { median } from './support/statistics.ts'

const rounds = Number(process.argv[2] ?? 15)
const FILES = 3000
const CHANGED = 20

const contentOf = (at: number) =>
  `${Array.from({ length: 40 }, (_, line) => `export const value${line} = ${at * line} // of file ${at}`).join('\n')}\n`

await using test = await startTestService()
const files = Object.fromEntries(Array.from({ length: FILES }, (_, at) => [`f${at}.ts`, contentOf(at)]))
const { grantId, repository } = await localRepository(test, 'bench/end', files)
const lines = `for l in $(seq 40); do echo "export const value$l = $((n * l)) // of file $n"; done`
const make = `mkdir -p /workspace/project && cd /workspace/project && for n in $(seq ${FILES}); do ${lines} > f$n.ts; done`
const change = (round: number) =>
  `cd /workspace/project && for n in $(seq ${CHANGED}); do echo "// round ${round}" >> f$n.ts; done`

async function sealed({ id }: Session, message: string): Promise<{ sealMs: number; toldMs: number }> {
  const { run } = await test.api.submitTurn(id, message)
  await test.api.runEnded(id, run.id)
  while ((await test.api.session(id)).phase !== 'idle') await sleep(2)
  const idleAt = Date.now()
  const events = await test.api.events(id)
  const endedAt = Date.parse(events.findLast(({ type }) => type === 'svc.run.completed')?.createdAt ?? '')
  const told = events.findLast(({ type }) => type === 'svc.revision.created')
  return { sealMs: idleAt - endedAt, toldMs: Date.parse(told?.createdAt ?? '') - endedAt }
}

const source = { grantId, repositoryId: repository.repositoryId }
const [withRevision, without] = [
  await test.api.createSession({ runtime: 'shell', source }),
  await test.api.createSession({ runtime: 'shell' }),
]
await sealed(withRevision, 'true')
await sealed(without, make)
const figures: Record<'with' | 'without' | 'unchanged' | 'told', number[]> = {
  with: [],
  without: [],
  unchanged: [],
  told: [],
}
for (let round = 0; round < rounds; round++) {
  const { sealMs, toldMs } = await sealed(withRevision, change(round))
  figures.with.push(sealMs)
  figures.told.push(toldMs)
  figures.without.push((await sealed(without, change(round))).sealMs)
  figures.unchanged.push((await sealed(withRevision, 'true')).sealMs)
}
const show = (name: keyof typeof figures) => median(figures[name]).toFixed(0)
process.stdout.write(
  `from the end of a Run until the Session is idle, medians of ${rounds}:
seal alone:                    ${show('without')} ms
with a revision of ${CHANGED} files:   ${show('with')} ms, told after ${show('told')} ms
compared, and nothing changed: ${show('unchanged')} ms
`,
)
