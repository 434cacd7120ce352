import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { appears } from '../test/support/appears.ts'
import { processEnd } from '../test/support/process-end.ts'
import { openShell } from '../test/support/shell-client.ts'

function readPid(file: string): number {
  return Number(readFileSync(file, 'utf8'))
}

describe('a script', () => {
  test('is one tool call with its output, in the session directory, without stdin', async () => {
    await using shell = await openShell()
    const turn = await shell.run('\n  echo one \necho two >&2\necho three; pwd; cat\n')
    expect(turn.updates).toBe(2)
    expect(turn.call).toMatchObject({ title: 'echo one', kind: 'execute', status: 'in_progress', name: 'bash' })
    expect(turn.update).toMatchObject({
      toolCallId: turn.call.toolCallId,
      status: 'completed',
      rawOutput: { exitCode: 0, signal: null },
    })
    expect(turn.update._meta).toBeUndefined()
    expect(turn.output).toBe(`one\ntwo\nthree\n${shell.directory}\n`)
    expect(turn.response).toEqual({
      stopReason: 'end_turn',
      _meta: { berth: { summary: `one\ntwo\nthree\n${shell.directory}` } },
    })
    expect(readdirSync(shell.directory)).toEqual([])
  })

  test('may open its output by name', async () => {
    await using shell = await openShell()
    const turn = await shell.run('echo out > /dev/stdout; echo err > /dev/stderr; echo x | tee /dev/stderr')
    expect(turn.output).toBe('out\nerr\nx\nx\n')
  })

  test('may have 100 000 characters, in several blocks', async () => {
    await using shell = await openShell()
    const filler = `# ${'字'.repeat(99_000)}`
    const turn = await shell.run(filler, "echo 'Ünïcödé 🚢'")
    expect(turn.output).toBe('Ünïcödé 🚢\n')
    expect(Array.from(turn.call.title)).toHaveLength(120)
  })

  test('may be empty', async () => {
    await using shell = await openShell()
    const turn = await shell.run('')
    expect(turn).toMatchObject({ output: '', summary: '', response: { stopReason: 'end_turn' } })
    expect(turn.call.title).toBe('bash')
  })

  test.each([
    ['exit 3', 3, null],
    ['no_such_command', 127, null],
    ['if', 2, null],
    ['kill -KILL $$', null, 'SIGKILL'],
    ['kill -TERM $$', null, 'SIGTERM'],
  ])('that ends with %s has failed', async (script, exitCode, signal) => {
    await using shell = await openShell()
    const turn = await shell.run(`echo before\n${script}`)
    expect(turn.update).toMatchObject({ status: 'failed', rawOutput: { exitCode, signal } })
    expect(turn.response.stopReason).toBe('end_turn')
    expect(turn.response._meta?.berth).toMatchObject({ stopReason: 'error', errorCode: 'shell_exit_nonzero' })
    expect(turn.output).toMatch(/^before\n/)
  })

  test('in a missing directory is an error, and the next one runs', async () => {
    await using shell = await openShell()
    await shell.request('session/load', { sessionId: 'gone', cwd: '/no/such/directory', mcpServers: [] })
    const prompt = [{ type: 'text', text: 'true' }]
    await expect(shell.request('session/prompt', { sessionId: 'gone', prompt })).rejects.toThrow('could not be run')
    await expect(shell.request('session/prompt', { sessionId: 'never', prompt })).rejects.toThrow('not found')
    expect((await shell.run('echo fine')).output).toBe('fine\n')
  })
})

describe('the output of a script', () => {
  test('is kept to 64 KiB, cut between characters, with its last lines as the summary', async () => {
    await using shell = await openShell()
    const turn = await shell.run('echo -n x; for i in {1..30000}; do echo -n 🚢; done; echo; seq 1 100')
    expect(turn.output).toBe(`x${'🚢'.repeat(16383)}`)
    expect(turn.update._meta).toEqual({ berth: { truncated: true } })
    expect(turn.summary).toBe(Array.from({ length: 20 }, (_, i) => `${81 + i}`).join('\n'))
  })

  test('becomes valid text if it is binary', async () => {
    await using shell = await openShell()
    const turn = await shell.run(String.raw`printf 'a\xff\x00b'; head -c 65536 /dev/zero`)
    expect(turn.output.startsWith('a\ufffd\ufffdb\ufffd')).toBe(true)
    expect(Buffer.byteLength(turn.output)).toBeLessThanOrEqual(64 * 1024)
    expect(turn.output).not.toContain('\0')
    expect(turn.update._meta).toEqual({ berth: { truncated: true } })
  })

  test('costs no memory if it is endless', async () => {
    await using shell = await openShell()
    const turn = await shell.run('yes | head -c 300000000; echo; echo done')
    expect(turn.summary.endsWith('\ndone')).toBe(true)
    const resident = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${shell.pid}/status`, 'utf8'))?.[1]
    expect(Number(resident)).toBeLessThan(250_000)
  })

  test('of background processes is awaited only shortly, and the processes live on', async () => {
    await using shell = await openShell()
    const script = `exec > >(tee log) 2>&1
      (echo $BASHPID > pid; trap 'echo $? > ended' EXIT; until [ -e go ]; do sleep 0.02; done; echo late; echo on > on) &
      echo from the script`
    const turn = await shell.run(script)
    expect(turn.output).toBe('from the script\n')
    expect(turn.response._meta?.berth).toEqual({ summary: 'from the script' })
    writeFileSync(join(shell.directory, 'go'), '')
    await appears(join(shell.directory, 'on'))
    expect(readFileSync(join(shell.directory, 'log'), 'utf8')).toContain('from the script')
    expect((await shell.run('echo next')).output).toBe('next\n')
  })
})

describe('cancellation', () => {
  test('ends the script as cancelled, and the next one runs', async () => {
    await using shell = await openShell()
    const running = shell.run('echo started; echo $$ > new; mv new pid; sleep 1000')
    await appears(join(shell.directory, 'pid'))
    await shell.cancel()
    const turn = await running
    expect(turn.response).toEqual({ stopReason: 'cancelled', _meta: { berth: { summary: 'started' } } })
    expect(turn.update).toMatchObject({ status: 'failed', rawOutput: { exitCode: null, signal: 'SIGTERM' } })
    expect((await shell.run('echo next')).output).toBe('next\n')
    await shell.cancel()
    expect((await shell.run('echo still')).response.stopReason).toBe('end_turn')
  })

  test('lets a script clean up', async () => {
    await using shell = await openShell()
    const running = shell.run("trap 'echo cleaned; exit 5' TERM; echo > up; while :; do sleep 0.05; done")
    await appears(join(shell.directory, 'up'))
    await shell.cancel()
    const turn = await running
    expect(turn.output).toContain('cleaned')
    expect(turn.update.rawOutput).toEqual({ exitCode: 5, signal: null })
  })

  test('kills a script that ignores it, and its children', async () => {
    await using shell = await openShell()
    const running = shell.run(`trap '' TERM; (echo $BASHPID > new; mv new child; while :; do sleep 1; done) & wait`)
    await appears(join(shell.directory, 'child'))
    await shell.cancel()
    expect((await running).update.rawOutput).toEqual({ exitCode: null, signal: 'SIGKILL' })
    await processEnd(readPid(join(shell.directory, 'child')))
  })

  test('ends a script with endless output', async () => {
    await using shell = await openShell()
    const running = shell.run('echo > up; exec yes')
    await appears(join(shell.directory, 'up'))
    await shell.cancel()
    expect((await running).response.stopReason).toBe('cancelled')
  })

  test('leaves the running script alone if a second one is refused', async () => {
    await using shell = await openShell()
    const running = shell.run('echo > up; until [ -e go ]; do sleep 0.02; done; echo first')
    await appears(join(shell.directory, 'up'))
    await expect(shell.run('echo second')).rejects.toThrow('a script is running')
    writeFileSync(join(shell.directory, 'go'), '')
    expect((await running).response.stopReason).toBe('end_turn')
  })
})

describe('the shell runtime', () => {
  test.each([
    ['loses its client', (shell: Awaited<ReturnType<typeof openShell>>) => shell.endInput()],
    ['is asked to end', (shell: Awaited<ReturnType<typeof openShell>>) => process.kill(shell.pid, 'SIGTERM')],
  ])('ends its script if it %s', async (_, end) => {
    await using shell = await openShell()
    shell.run('echo $$ > new; mv new pid; sleep 1000').catch(() => {})
    await appears(join(shell.directory, 'pid'))
    end(shell)
    await shell.exit
    await processEnd(readPid(join(shell.directory, 'pid')))
  })
})
