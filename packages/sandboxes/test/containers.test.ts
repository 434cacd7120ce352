import type { Session } from '@berth/contract'
import { activitiesOf, outcomeOf } from '@berth/testing/runs/ended-run.ts'
import { until } from '@berth/testing/until.ts'
import { Resuming } from '@berth/testing/workspaces/resuming.ts'
import { leaseOf } from '@berth/testing/workspaces/workspace.ts'
import type { ExecutionContext } from '@berth/worker/claim/execution-context.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeTestImage, noContainers } from '../src/testing/container-image.ts'

const outputOf = (run: Parameters<typeof activitiesOf>[0]) => activitiesOf(run).map(activity => activity['output'])

describe.skipIf(noContainers !== undefined)(`sessions in containers (${noContainers ?? 'podman'})`, () => {
  const opened = new AsyncDisposableStack()
  let bench: Resuming
  let context: ExecutionContext
  const leaseId = (session: Session) => leaseOf(bench.test.db.database, session)
  beforeAll(async () => {
    const { image } = opened.use(await makeTestImage())
    bench = opened.use(await Resuming.open())
    context = await bench.work(opened, { image })
  })
  afterAll(async () => {
    for (const lease of (await context?.driver.list()) ?? []) await context.driver.destroy(lease)
    await opened.disposeAsync()
  })

  it('keep their sandbox from one Turn to the next, which stands still in between', async () => {
    const { session } = await bench.sealed('shell', 'echo kept > note; id -u > uid; hostname')
    const first = await leaseId(session)
    await until('a sandbox at rest', async () => (await context.driver.stateOf(first)) === 'frozen')
    const next = await bench.next(session, 'cat note; test "$(id -u)" = "$(cat uid)" && echo same')
    expect([outcomeOf(next), outputOf(next)]).toEqual(['completed completed - 1', ['kept\nsame\n']])
    expect(await leaseId(session)).toBe(first)
  })

  it('get the sealed work back in another container when theirs is lost', async () => {
    const { session } = await bench.sealed('shell', 'mkdir -p a/b; echo deep > a/b/c; ln -s a/b link')
    const first = await leaseId(session)
    await context.driver.destroy(first)
    const next = await bench.next(session, 'cat link/c')
    expect([outcomeOf(next), outputOf(next)]).toEqual(['completed completed - 1', ['deep\n']])
    expect(await leaseId(session)).not.toBe(first)
  })

  it('run an agent that speaks ACP, three at a time', async () => {
    const runs = await Promise.all(['one', 'two', 'three'].map(word => bench.sealed('scripted', `say ${word}`)))
    expect(runs.map(outcomeOf)).toEqual(Array.from({ length: 3 }, () => 'completed completed - 1'))
  })
})
