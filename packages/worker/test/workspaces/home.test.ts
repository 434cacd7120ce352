import type { Session } from '@berth/contract'
import { foreignRuntimeLimits, homeLimits, workspaceLimits } from '@berth/core/checkpoints/limits.ts'
import type { Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import { activitiesOf, type EndedRun, messagesOf } from '@berth/testing/runs/ended-run.ts'
import { Resuming } from '@berth/testing/workspaces/resuming.ts'
import { signalSandbox } from '@berth/testing/workspaces/sandbox-processes.ts'
import { leaseOf } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'

let bench: Resuming
let stack: AsyncDisposableStack
beforeAll(async () => {
  bench = await Resuming.open()
})
afterAll(() => bench[Symbol.asyncDispose]())
beforeEach(() => {
  stack = new AsyncDisposableStack()
})
afterEach(() => stack.disposeAsync())

const outputsOf = (run: EndedRun) => activitiesOf(run).map(({ output }) => output)
const omittedOf = async (session: Session) =>
  (await bench.api.events(session.id)).filter(({ type }) => type === 'svc.artifact.omitted').map(({ data }) => data)
const install = [
  'set -e; mkdir -p ~/.local/bin ~/.config/tool',
  "printf '#!/bin/sh\\ncat ~/.config/tool/words\\n' > ~/.local/bin/tool; chmod 755 ~/.local/bin/tool",
  'echo installed > ~/.config/tool/words; echo registry=http://localhost/ > ~/.npmrc; echo work > file',
].join('\n')
const random = 'head -c 20000 /dev/urandom | base64 > ~/random'

const ends: Record<string, (session: Session) => Promise<unknown>> = {
  'was given back': session => bench.expire(session),
  'was killed': async session => {
    await signalSandbox(bench.test.dataDir, await leaseOf(bench.test.db.database, session), 'SIGKILL')
    return bench.expired(session)
  },
}

it.each(Object.keys(ends))(
  'a tool that an agent has installed in its home is there after the sandbox %s',
  async how => {
    await bench.work(stack)
    const { session } = await bench.sealed('shell', `${install}; mkdir -p ~/.cache/pip; echo copy > ~/.cache/pip/wheel`)
    await ends[how]?.(session)
    const next = await bench.next(session, '~/.local/bin/tool; cat ~/.npmrc file; ls -A ~; echo other > ~/.npmrc')
    expect(outputsOf(next)).toEqual(['installed\nregistry=http://localhost/\nwork\n.config\n.local\n.npmrc\n'])
    // The next seal builds on the restored home.
    await bench.expire(session)
    expect(outputsOf(await bench.next(session, '~/.local/bin/tool; cat ~/.npmrc'))).toEqual(['installed\nother\n'])
    expect(await omittedOf(session)).toEqual([])
  },
)

it('a fork has the home that the other session had, and neither shows in the other', async () => {
  await bench.work(stack)
  const { session } = await bench.sealed('shell', install)
  const { body } = await bench.api.call<{ session: Session }>('POST', `/v1/sessions/${session.id}/forks`, {})
  const change = '~/.local/bin/tool; echo forked > ~/.config/tool/words'
  expect(outputsOf(await bench.next(body.session, change))).toContain('installed\n')
  expect(outputsOf(await bench.next(session, '~/.local/bin/tool'))).toContain('installed\n')
})

it('a home over its cap is left out and said so, and workspace and conversation are kept', async () => {
  const over = { ...homeLimits, storedBytes: 8000 }
  await bench.work(stack, { checkpointLimits: { home: over } })
  const { session, run } = await bench.sealed('shell', `${install}; ${random}`)
  expect(await omittedOf(session)).toEqual([
    {
      kind: 'home_checkpoint',
      name: 'the home directory',
      sizeBytes: expect.any(Number),
      reason:
        'over the cap of 8000 stored bytes that the workspace leaves; ' +
        'the workspace is kept, and tools in the home go with the sandbox',
    },
  ])
  expect((await bench.expire(session)).continuation).toMatchObject({ canContinue: true, sealedByRunId: run.id })
  expect(outputsOf(await bench.next(session, 'cat file; ls -A ~'))).toEqual(['work\n'])
  // The home is within its cap again.
  await bench.next(session, install)
  await bench.expire(session)
  expect(outputsOf(await bench.next(session, '~/.local/bin/tool'))).toEqual(['installed\n'])
})

it('a home over its cap is not packed again before it is smaller', async () => {
  let put = 0
  const blobs = (real: Blobs) =>
    new Proxy(real, {
      get(target, name: keyof Blobs) {
        if (name !== 'put') return target[name].bind(target)
        return (content: Uint8Array) => {
          put += content.length
          return real.put(content)
        }
      },
    })
  // A pack holds 8 MiB.
  await bench.work(stack, { blobs, checkpointLimits: { home: { ...homeLimits, storedBytes: 9_000_000 } } })
  const { session } = await bench.sealed('shell', 'head -c 20000000 /dev/urandom > ~/random; echo one > file')
  expect(put).toBeGreaterThan(8_000_000)
  put = 0
  await bench.next(session, 'head -c 20000000 /dev/urandom > ~/random; echo two > file')
  expect(put).toBeLessThan(100_000)
  const [first, second, ...more] = await omittedOf(session)
  expect([second, more]).toEqual([first, []])
  await bench.next(session, 'head -c 1000 /dev/urandom > ~/random')
  expect(await omittedOf(session)).toHaveLength(2)
  await bench.expire(session)
  expect(outputsOf(await bench.next(session, 'stat -c %s ~/random; cat file'))).toEqual(['1000\ntwo\n'])
})

it('a home may be as large as the workspace leaves room in the cap that they share', async () => {
  await bench.work(stack, { checkpointLimits: { workspace: { ...workspaceLimits, storedBytes: 40_000 } } })
  const { session } = await bench.sealed('shell', `${random}; head -c 15000 /dev/urandom > file`)
  expect(await omittedOf(session)).toEqual([])
  await bench.next(session, 'head -c 10000 /dev/urandom >> file')
  const [omitted] = await omittedOf(session)
  expect(omitted).toMatchObject({ kind: 'home_checkpoint' })
  expect(omitted?.['reason']).toMatch(/^over the cap of \d+ stored bytes that the workspace leaves; /)
  await bench.expire(session)
  expect(outputsOf(await bench.next(session, 'stat -c %s file; ls -A ~'))).toEqual(['25000\n'])
})

it('an agent keeps its conversation if the home is over its cap, and tools in the home if that is over its own', async () => {
  await bench.work(stack, { checkpointLimits: { home: { ...homeLimits, files: 1 } } })
  const { session } = await bench.sealed('remembering', 'remember harbour')
  expect(await omittedOf(session)).toMatchObject([{ kind: 'home_checkpoint', count: 2 }])
  expect((await bench.expire(session)).continuation.conversation.fidelity).toBe('exact')
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
  await bench.work(stack, { checkpointLimits: { conversation: { ...foreignRuntimeLimits, files: 1 } } })
  expect(messagesOf(await bench.next(session, 'recall')).map(({ text }) => text)).toEqual(['loaded: harbour'])
  const { session: other } = await bench.sealed('remembering', 'remember harbour')
  expect(await omittedOf(other)).toMatchObject([{ kind: 'conversation_checkpoint', count: 2 }])
  expect((await bench.expire(other)).continuation.conversation.fidelity).toBe('result_only')
})

it('nothing in a home leads a seal or a restore out of it, and a home of countless files costs no workspace', async () => {
  await bench.work(stack, { checkpointLimits: { home: { ...homeLimits, files: 1000 } } })
  const { session } = await bench.sealed(
    'shell',
    [
      'set -e; cd ~; ln -s / root; ln -s /etc/passwd passwd; ln -s ../../workspace .agents; mkfifo pipe',
      "echo one > first; ln first second; cp /bin/true own; chmod 6755 own; mkdir closed $'new\\nline'; chmod 0 closed",
      'python3 -c \'import socket; socket.socket(socket.AF_UNIX).bind("socket")\' 2>/dev/null || true; mkdir -p .berth-outbox/x',
    ].join('\n'),
  )
  await bench.expire(session)
  const inspection = [
    "cd ~; readlink root passwd .agents; cat second; stat -c '%a %h %n' own first closed; ls -Aq | wc -l",
    '[ -e pipe ] || [ -e socket ] || [ -e .berth-outbox ] || echo nothing else',
  ].join('\n')
  const [printed] = outputsOf(await bench.next(session, inspection))
  expect(printed).toBe('/\n/etc/passwd\n../../workspace\none\n755 1 own\n644 2 first\n0 2 closed\n8\nnothing else\n')
  const { run } = await bench.next(
    session,
    'mkdir ~/many; cd ~/many; seq 2000 | xargs touch; echo kept > /workspace/file',
  )
  expect(await omittedOf(session)).toMatchObject([{ kind: 'home_checkpoint', count: 1001 }])
  expect((await bench.expire(session)).continuation).toMatchObject({ canContinue: true, sealedByRunId: run.id })
  expect(outputsOf(await bench.next(session, 'cat /workspace/file'))).toEqual(['kept\n'])
})

it('a checkpoint from before homes were kept is restored as it is', async () => {
  await bench.work(stack)
  const { session } = await bench.sealed('shell', install)
  await bench.test.db.database.query('update checkpoints set home_manifest = null where session_id = $1', [session.id])
  await bench.expire(session)
  expect(outputsOf(await bench.next(session, 'cat file; ls -A ~'))).toEqual(['work\n'])
})
