import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Artifact, ArtifactPage, Session } from '@berth/contract'
import { activitiesOf, type EndedRun, outcomeOf, typesOf } from '@berth/testing/runs/ended-run.ts'
import { until } from '@berth/testing/until.ts'
import { Resuming } from '@berth/testing/workspaces/resuming.ts'
import { leaseDirectory, leaseOf, workspacePath } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let bench: Resuming
beforeAll(async () => {
  bench = stack.use(await Resuming.open())
  await bench.work(stack)
})
afterAll(() => stack.disposeAsync())

const perform = (script: string, runtime = 'shell') => bench.sealed(runtime, script)

/** Lists the files that a Run presented, in the order of the log. */
const presentedBy = (ended: EndedRun) =>
  ended.events
    .filter(({ type, data }) => type === 'svc.artifact.created' && data['kind'] === 'presented_file')
    .map(({ data }) => data)
const namesOf = (ended: EndedRun) => presentedBy(ended).map(({ name }) => name)
const omittedBy = (ended: EndedRun) =>
  ended.events.filter(({ type }) => type === 'svc.artifact.omitted').map(({ data }) => data)
const outputOf = (ended: EndedRun) => String(activitiesOf(ended)[0]?.['output'])

async function content(session: Session, id: string): Promise<string> {
  const { url, tenant } = bench.test
  const headers = { authorization: `Bearer ${tenant.apiKey}` }
  const response = await fetch(`${url}/v1/sessions/${session.id}/artifacts/${id}/content`, { headers })
  expect(response.headers.get('content-disposition')).toMatch(/^attachment;/)
  return response.text()
}

describe('files that an agent presents', () => {
  it('are stored unchanged, in order, before the run ends, and once', async () => {
    const ended = await perform(
      [
        'mkdir -p out; echo "# one" > out/report.md; berth-present out/report.md; echo changed > out/report.md',
        'echo {} > x; berth-present --name data.json x; printf "<p>" > page.html; berth-present -- page.html',
      ].join('\n'),
    )
    expect(outcomeOf(ended)).toBe('completed completed - 1')
    expect(outputOf(ended)).toBe('presented report.md\npresented data.json\npresented page.html\n')
    expect(presentedBy(ended)).toMatchObject([
      { name: 'report.md', mediaType: 'text/markdown', sizeBytes: 6 },
      { name: 'data.json', mediaType: 'application/json', sizeBytes: 3 },
      { name: 'page.html', mediaType: 'application/octet-stream', sizeBytes: 3 },
    ])
    expect(typesOf(ended).slice(-4)).toEqual([...Array(3).fill('artifact.created'), 'run.completed'])
    const ids = presentedBy(ended).map(({ artifactId }) => String(artifactId))
    expect(ended.run.result?.artifactIds.slice(-3)).toEqual(ids)
    expect(await content(ended.session, ids[0] ?? '')).toBe('# one\n')
    const { body } = await bench.api.get<{ artifact: Artifact }>(`/v1/sessions/${ended.session.id}/artifacts/${ids[1]}`)
    expect(body.artifact).toMatchObject({ kind: 'presented_file', runId: ended.run.id, name: 'data.json' })
    expect(namesOf(await bench.next(ended.session, 'echo two > two; berth-present two'))).toEqual(['two'])
    expect(namesOf(await bench.next(ended.session, 'true'))).toEqual([])
  })

  it('are kept even if the run fails or is cancelled', async () => {
    const failed = await perform('echo 1 > f; berth-present f; exit 3')
    expect(outcomeOf(failed)).toBe('failed error shell_exit_nonzero 1')
    expect([namesOf(failed), typesOf(failed).at(-1)]).toEqual([['f'], 'run.failed'])

    const { run } = await bench.api.submitTurn(
      failed.session.id,
      'echo 2 > g; berth-present g; touch at-work; sleep 600',
    )
    const mark = await workspacePath(bench.test.db.database, bench.test.dataDir, failed.session, 'at-work')
    await until('the script to be at work', () => existsSync(mark))
    await bench.api.call('POST', `/v1/sessions/${failed.session.id}/runs/${run.id}/cancel`)
    const cancelled = await bench.settled(failed.session, run.id)
    expect(outcomeOf(cancelled)).toBe('cancelled aborted - 1')
    expect([namesOf(cancelled), typesOf(cancelled).at(-1)]).toEqual([['g'], 'run.cancelled'])
  })

  it('may have any name', async () => {
    const ended = await perform(
      [
        "cd /tmp; echo 1 > $'a\\nb.txt'; echo 2 > $'\\xff\\xfe.png'; echo 3 > -n; echo 4 > 'täglich \"x\".csv'",
        "berth-present $'a\\nb.txt' $'\\xff\\xfe.png'; berth-present -- -n; berth-present 'täglich \"x\".csv'",
        'ln -s -- -n link; berth-present link; berth-present --name ../up link; berth-present none . ; echo $?',
      ].join('\n'),
    )
    expect(namesOf(ended)).toEqual(['a_b.txt', '\ufffd\ufffd.png', '-n', 'täglich "x".csv', 'link'])
    expect(outputOf(ended)).toContain('must not contain a slash')
    expect(outputOf(ended)).toMatch(/1\n$/)
    const { body } = await bench.api.get<ArtifactPage>(`/v1/sessions/${ended.session.id}/artifacts`)
    const contents = await Promise.all(
      body.artifacts
        .filter(({ kind }) => kind === 'presented_file')
        .map(async ({ name, id }) => `${name} ${await content(ended.session, id)}`),
    )
    expect(contents.sort()).toEqual(
      ['-n 3\n', 'a_b.txt 1\n', 'link 3\n', 'täglich "x".csv 4\n', '\ufffd\ufffd.png 2\n'].sort(),
    )
  })

  it('over a cap are left out without failing the run', async () => {
    const many = await perform('for i in $(seq 26); do echo $i > f$i; berth-present f$i; done')
    expect(many.run.status).toBe('completed')
    expect(namesOf(many)).toEqual(Array.from({ length: 24 }, (_, n) => `f${n + 1}`))
    const reason = expect.stringContaining('24 files')
    expect(omittedBy(many)).toEqual([
      { kind: 'presented_file', name: 'f25', sizeBytes: 3, reason },
      { kind: 'presented_file', name: 'f26', sizeBytes: 3, reason },
    ])
    const large = await bench.next(
      many.session,
      'truncate -s 33554433 over; truncate -s 33554432 full; berth-present over; echo $?\n' +
        'for i in 1 2; do berth-present --name $i full; done; berth-present f1 f2; : > none; berth-present none',
    )
    expect(large.run.status).toBe('completed')
    expect(outputOf(large)).toMatch(/is not kept: the limit is 33554432 bytes\n1\n/)
    expect(presentedBy(large).map(({ name, sizeBytes }) => [name, sizeBytes])).toEqual([
      ['1', 33_554_432],
      ['2', 33_554_432],
      ['none', 0],
    ])
    expect(omittedBy(large)).toMatchObject([
      { name: 'over', sizeBytes: 33_554_433, reason: expect.stringContaining('33554432 bytes for a presented file') },
      { name: 'f1', sizeBytes: 2, reason: expect.stringContaining('67108864 bytes for all') },
      { name: 'f2', sizeBytes: 2 },
    ])
  })

  it("by an agent that writes the outbox itself cost only that agent's files", async () => {
    const ended = await perform(
      [
        'cd ~; mkdir .berth-outbox; cd .berth-outbox',
        'mkdir 1-1 2-1 3-1 4-1 5-1 6-1 7-1 not-one; ln -s /etc/passwd 1-1/link; mkfifo 2-1/fifo; mkdir -p 3-1/dir/deep',
        'ln -s /usr 8-1; echo closed > 4-1/closed; chmod 0 4-1/closed; echo shut > 5-1/shut; chmod 0 5-1; echo x > 9-1',
        'for i in $(seq 50000); do echo more; done >> 6-1/growing & echo kept > 7-1/kept; echo x > not-one/x',
        // A process that is to write in the background may not have begun yet.
        'until [ -s 6-1/growing ]; do sleep 0.01; done',
      ].join('\n'),
    )
    expect(ended.run.status).toBe('completed')
    expect(namesOf(ended)).toEqual(['growing', 'kept'])
    const flooded = await bench.next(
      ended.session,
      'cd ~; chmod -R u+rwx .berth-outbox* 2>/dev/null; rm -rf .berth-outbox; mkdir .berth-outbox; cd .berth-outbox\n' +
        'for i in $(seq 100 1300); do mkdir $i-1; : > $i-1/f$i; done',
    )
    expect(flooded.run.status).toBe('completed')
    expect(presentedBy(flooded)).toHaveLength(24)
    expect(omittedBy(flooded)).toHaveLength(25)
    expect(omittedBy(flooded).at(-1)).toMatchObject({ name: 'more files' })
    const linked = await bench.next(
      flooded.session,
      'cd ~; rm -rf .berth-outbox; mkdir -p real/5-1; echo y > real/5-1/y; ln -s real .berth-outbox',
    )
    expect([linked.run.status, namesOf(linked)]).toEqual(['completed', []])
  })

  it('are not presented again if a worker died before it removed them', async () => {
    const ended = await perform('echo 1 > one; berth-present one')
    const lease = leaseDirectory(bench.test.dataDir, await leaseOf(bench.test.db.database, ended.session))
    // The state after a death between the commit and the removal.
    const left = join(lease, `disk/files/home/.berth-outbox.${ended.run.id}.0/1-1`)
    await mkdir(left, { recursive: true })
    await writeFile(join(left, 'one'), '1\n')
    // A file that a program presents after its Run has ended, or after a Run was cancelled while it awaited an answer.
    const late = join(lease, 'disk/files/home/.berth-outbox/1-1')
    await mkdir(late, { recursive: true })
    await writeFile(join(late, 'late'), '1\n')
    const next = await bench.next(ended.session, 'echo 2 > two; berth-present two')
    expect(namesOf(next)).toEqual(['two'])
  })
})
