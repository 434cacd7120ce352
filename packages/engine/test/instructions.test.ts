import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { type Engine, openEngine } from './support/engine.ts'
import { call, inputOf } from './support/scripted-gateway.ts'

let engine: Engine
afterEach(() => engine[Symbol.asyncDispose]())

function write(workspace: string, files: Readonly<Record<string, string | Buffer>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(workspace, path)), { recursive: true })
    writeFileSync(join(workspace, path), content)
  }
}

/** Returns what people see of files that the model got by itself. */
const givenIn = (updates: Engine['updates']) =>
  updates.flatMap(update =>
    update.sessionUpdate === 'tool_call' && /^(instructions|attachment)$/.test(update.name ?? '')
      ? [`${update.name}: ${update.title}`]
      : [],
  )
const count = (text: string, part: string) => text.split(part).length - 1

test('instructions of a directory come with the first work there, the nearest last, and people see which were read', async () => {
  engine = await openEngine({
    prepare: workspace =>
      write(workspace, {
        'AGENTS.md': 'Of the whole.',
        'pkg/AGENTS.md': 'Of the package.',
        'pkg/a/CLAUDE.md': 'Of the part.',
        'pkg/a/x.ts': 'x\n',
        'other/AGENTS.md': 'Of another.',
        '.cursor/rules/always.mdc': '---\ndescription:\nglobs:\nalwaysApply: true\n---\nOf every file.\n',
        '.cursor/rules/types.mdc': '---\nglobs: *.md, *.ts\nalwaysApply: false\n---\nOf types.\n',
        '.cursor/rules/pages.mdc': '---\nglobs:\n  - "docs/**"\n---\nOf pages.\n',
        '.cursor/rules/deploy.mdc': '---\ndescription: Deploying it\n---\nOf deployments.\n',
      }),
  })
  const read = call('read', { path: 'pkg/a/x.ts' })
  engine.gateway.next(read, read, { text: 'done' }, read, { text: 'done' })
  const atStart = ['instructions: read AGENTS.md', 'instructions: read .cursor/rules/always.mdc']
  expect(givenIn((await engine.prompt('go')).updates)).toEqual([
    ...atStart,
    'instructions: read .cursor/rules/types.mdc',
    'instructions: read pkg/AGENTS.md',
    'instructions: read pkg/a/CLAUDE.md',
  ])
  const [first = '', second = '', third = ''] = engine.gateway.requests.map(inputOf)
  for (const part of ['Of the whole.', 'Of every file.']) expect(first).toContain(part)
  expect(first).toContain('Read .cursor/rules/deploy.mdc if this is what you do: Deploying it')
  for (const part of ['Of types.', 'Of the package.']) expect(first).not.toContain(part)
  expect(second).toMatch(/Of types\..*Of the package\..*Of the part\./)
  for (const part of ['Of another.', 'Of pages.', 'Of deployments.']) expect(second).not.toContain(part)
  expect(count(third, 'Of the part.')).toBe(1)
  // The next process finds them in the conversation.
  await engine.restart()
  expect(givenIn((await engine.prompt('again')).updates)).toEqual(atStart)
  expect(count(inputOf(engine.gateway.requests.at(-1)), 'Of the part.')).toBe(1)
})

test('neither the links nor the globs among the rules of a repository hold the engine up', async () => {
  const many = Array.from({ length: 33 }, (_, index) => index).join()
  engine = await openEngine({
    prepare(workspace) {
      write(workspace, {
        [`${'a'.repeat(100)}.ts`]: 'x\n',
        'elsewhere/x.mdc': '---\nalwaysApply: true\n---\nOf elsewhere.\n',
        '.cursor/rules/braces.mdc': '---\nglobs: "*.{js,ts}", docs/**\n---\nOf code.\n',
        '.cursor/rules/many.mdc': `---\nglobs: "{${many},*}.ts"\n---\nOf many.\n`,
        '.cursor/rules/slow.mdc': `---\nglobs: "${'*a'.repeat(40)}*b"\n---\nOf none.\n`,
        'linked/.cursor/x': '',
        'linked/x.ts': 'x\n',
      })
      const link = (to: string, at: string) => symlinkSync(to, join(workspace, at))
      link('.', '.cursor/rules/self')
      link('/', '.cursor/rules/root')
      link('../../elsewhere/x.mdc', '.cursor/rules/x.mdc')
      link('../../elsewhere', 'linked/.cursor/rules')
    },
  })
  const read = (path: string) => call('read', { path })
  engine.gateway.next(read(`${'a'.repeat(100)}.ts`), read('linked/x.ts'), { text: 'done' })
  expect(givenIn((await engine.prompt('go')).updates)).toEqual(['instructions: read .cursor/rules/braces.mdc'])
})

test('instructions of any size are read to their bound, and a pipe of that name is none', async () => {
  engine = await openEngine({
    prepare(workspace) {
      write(workspace, { 'AGENTS.md': `Of the whole.${'x'.repeat(70 * 1024)}`, 'pkg/x.ts': 'x\n' })
      truncateSync(join(workspace, 'AGENTS.md'), 3 * 1024 ** 3)
      execFileSync('mkfifo', [join(workspace, 'pkg/AGENTS.md')])
      symlinkSync('../AGENTS.md', join(workspace, 'pkg/CLAUDE.md'))
    },
  })
  engine.gateway.next(call('read', { path: 'pkg/x.ts' }), { text: 'done' })
  expect(givenIn((await engine.prompt('go')).updates)).toEqual([
    'instructions: read AGENTS.md',
    'instructions: read pkg/CLAUDE.md',
  ])
  const [first = ''] = engine.gateway.requests.map(inputOf)
  expect(first).toContain('Of the whole.')
  expect(first).toContain('[cut: the file goes on]')
})

const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(64)])
const message = 'Look at @src/a.ts, @shot.png and @"b c.txt". Not @big.log, @../secret, @away or m@b.ts.'

test.each([
  ['that takes images', ['text', 'image'], true],
  ['that takes none', ['text'], false],
])('files that a message names reach a model %s', async (_, modalities, takesImages) => {
  engine = await openEngine({
    model: { input_modalities: modalities },
    prepare: workspace =>
      write(workspace, {
        'src/a.ts': 'export const a = 1\n',
        'b c.txt': 'spaced',
        'shot.png': png,
        'big.log': 'x'.repeat(65 * 1024),
        '../secret': 'SECRET',
        'inputs/dropped.png': png,
        'inputs/dropped.txt': 'DROPPED',
      }),
  })
  engine.gateway.next({ text: 'done' })
  const links = ['dropped.png', 'dropped.txt'].map(name => ({
    ...{ type: 'resource_link' as const, name },
    uri: pathToFileURL(join(engine.workspace, 'inputs', name)).href,
  }))
  const { updates } = await engine.prompt(message, {}, links)
  const images = takesImages ? ['shot.png', 'inputs/dropped.png'] : []
  expect(givenIn(updates).toSorted()).toEqual(
    [...images, 'src/a.ts', 'b c.txt'].map(path => `attachment: read ${path}`).toSorted(),
  )
  const input = inputOf(engine.gateway.requests[0])
  expect(input).toContain('<file path=\\"src/a.ts\\">\\nexport const a = 1\\n')
  expect(input).toContain('<file path=\\"b c.txt\\">\\nspaced\\n</file>')
  expect(input).toContain(`[big.log has ${65 * 1024} bytes and is not shown here]`)
  expect(count(input, png.toString('base64'))).toBe(takesImages ? 2 : 0)
  expect(input.includes('[shot.png has 72 bytes and is not shown here]')).toBe(!takesImages)
  expect(input).toContain('Attached file: ')
  for (const part of ['SECRET', 'DROPPED']) expect(input).not.toContain(part)
})
