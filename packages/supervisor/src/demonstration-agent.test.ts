import { mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { client, methods, ndJsonStream, type PromptResponse, type SessionUpdate } from '@agentclientprotocol/sdk'
import { expect, test } from 'vitest'
import { demonstrationAgent } from './demonstration-agent.ts'

/** Runs the agent in a directory, which begins with these files; people answer what it asks with `choice`. */
async function demonstrate(
  files: Readonly<Record<string, string>>,
  choice: 'allow' | 'deny' | 'cancel',
  linked?: string,
) {
  const directory = mkdtempSync(join(tmpdir(), 'berth-demonstration-'))
  const [toAgent, toClient] = [new TransformStream<Uint8Array>(), new TransformStream<Uint8Array>()]
  const updates: SessionUpdate[] = []
  const requests: unknown[] = []
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text, { mode: 0o700 })
    if (linked !== undefined) {
      renameSync(join(directory, linked), join(directory, 'elsewhere'))
      symlinkSync('elsewhere', join(directory, linked))
    }
    demonstrationAgent('1').connect(ndJsonStream(toClient.writable, toAgent.readable))
    const { agent } = client({ name: 'test' })
      .onNotification(methods.client.session.update, ({ params }) => void updates.push(params.update))
      .onRequest(methods.client.session.requestPermission, async ({ params }) => {
        requests.push(params.toolCall.rawInput)
        if (choice !== 'cancel') return { outcome: { outcome: 'selected' as const, optionId: choice } }
        await agent.notify(methods.agent.session.cancel, { sessionId: params.sessionId })
        return { outcome: { outcome: 'cancelled' as const } }
      })
      .connect(ndJsonStream(toAgent.writable, toClient.readable))
    await agent.request(methods.agent.initialize, { protocolVersion: 1 })
    const { sessionId } = await agent.request(methods.agent.session.new, { cwd: directory, mcpServers: [] })
    const prompt = [{ type: 'text' as const, text: 'whatever' }]
    const { stopReason } = await agent.request<PromptResponse>(methods.agent.session.prompt, { sessionId, prompt })
    const output = updates.flatMap(update =>
      update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text' ? [update.content.text] : [],
    )
    const after = Object.keys(files).map(name => readFileSync(join(directory, name), 'utf8'))
    return { stopReason, output: output.join('\n'), requests, after, updates }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const sample = {
  'greet.sh': `#!/bin/sh\necho "Hello, \${1:-world}"\n`,
  'test.sh': `#!/bin/sh
greets() {
  said=$(./greet.sh $1)
  [ "$said" = "$2" ] && return
  echo "./greet.sh $1 says \\"$said\\", not \\"$2\\""
  exit 1
}
greets Ada "Hello, Ada"
greets "--spanish Ada" "Hola, Ada"
echo ok
`,
}

test('the demonstration changes the sample, asks once, and runs its test', async () => {
  const { stopReason, output, requests, updates } = await demonstrate(sample, 'allow')
  expect([stopReason, requests]).toEqual(['end_turn', [{ command: './test.sh' }]])
  expect(output).toMatch(/demonstration.*without a model[\s\S]*passes/)
  expect(updates).toContainEqual(expect.objectContaining({ kind: 'edit', title: 'Edit greet.sh', status: 'completed' }))
})

test('the demonstration runs nothing that it was not allowed to', async () => {
  const { stopReason, output, after } = await demonstrate(sample, 'deny')
  expect([stopReason, after[0]]).toEqual(['end_turn', expect.stringContaining('--spanish')])
  expect(output).toContain('I did not run')
})

test('the demonstration stops when it is told to', async () => {
  expect((await demonstrate(sample, 'cancel')).stopReason).toBe('cancelled')
})

test('each try of the demonstration adds a greeting, and the test passes', async () => {
  let program = sample['greet.sh']
  const options: string[] = []
  for (let tries = 1; tries <= 9; tries++) {
    const { output, after } = await demonstrate({ ...sample, 'greet.sh': program }, 'allow')
    expect(output).toContain('Review the change')
    expect(after[0]).not.toBe(program)
    program = after[0] ?? ''
    options.push(/greets with `(\S+)`/.exec(output)?.[1] ?? output)
  }
  expect(options.slice(0, 3)).toEqual(['--spanish', '--french', '--german'])
  expect(new Set(options).size).toBe(9)
})

test.each<[string, Readonly<Record<string, string>>, string?]>([
  ['in another repository', { 'package.json': '{}' }],
  ['if the program is that of others', { ...sample, 'greet.sh': '#!/bin/sh\nexec my-greeter "$@"\n' }],
  ['if a line of others stands in it', { ...sample, 'greet.sh': `${sample['greet.sh']}# mine\n` }],
  ['if the test is that of others', { ...sample, 'test.sh': '#!/bin/sh\nrm -rf .\n' }],
  ['if the program is a link', sample, 'greet.sh'],
  ['if the test is a link', sample, 'test.sh'],
])('the demonstration changes nothing %s', async (_, files, linked) => {
  const { output, after, requests } = await demonstrate(files, 'allow', linked)
  expect(output).toContain('works on the sample repository alone')
  expect(output).not.toContain('Review the change')
  expect([after, requests]).toEqual([Object.values(files), []])
})
