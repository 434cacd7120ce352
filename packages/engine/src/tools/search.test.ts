import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { findExecutable } from './find-executable.ts'
import { list } from './list.ts'
import { search } from './search.ts'
import type { Query } from './search-command.ts'

const dir = mkdtempSync(join(tmpdir(), 'berth-search-'))
const programs = join(dir, 'programs')
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(programs, { recursive: true, force: true })
})
afterAll(() => rmSync(dir, { recursive: true }))

/** Searches a file with a grep that finds what the real one does, and then never ends if its locale is `locale`. */
async function searchWhileHanging(locale: string, pattern: string): Promise<string> {
  writeFileSync(join(dir, 'a.txt'), 'one\ntwo\n')
  const grep = join(dir, 'grep')
  writeFileSync(
    grep,
    `#!/bin/sh\nPATH=\${PATH#*:}\ngrep "$@"\nend=$?\n[ "$LC_ALL" != ${locale} ] || exec sleep 1000\nexit $end\n`,
  )
  chmodSync(grep, 0o755)
  vi.stubEnv('PATH', `${dir}:${process.env.PATH}`)
  return answerOf(search(dir, 1_500), { pattern, path: 'a.txt' })
}

async function answerOf(tool: ReturnType<typeof search> | ReturnType<typeof list>, args: object): Promise<string> {
  const { content } = await tool.execute('call', args as never, undefined, undefined, undefined as never)
  return content.map(block => (block.type === 'text' ? block.text : '')).join('')
}

/** Makes a tree with much that a program could leave out or take by mistake. */
function makeTree(): string {
  const tree = mkdtempSync(join(dir, 'tree-'))
  const files: Readonly<Record<string, string | Buffer>> = {
    'b.ts': 'foo(bar)\nFoo_1 café\r\n  a+b = {x: 1}\nfo\n\n',
    'a/c.ts': 'foo foo\n[one] two\n',
    'a-b.ts': 'foo\n',
    '.hidden/d.ts': 'foo\n',
    '.gitignore': 'ignored.ts\n',
    'ignored.ts': 'foo\n',
    '.git/e.ts': 'foo\n',
    'a/node_modules/f.ts': 'foo\n',
    'g.ts': Buffer.from('foo caf\xe9\nfoo\n', 'latin1'),
    'binary.ts': 'foo\n\0\n',
    'wide.ts': Buffer.from('\ufefffoo\n', 'utf16le'),
    'h/.git': 'foo\n',
    'i.md': 'foo.bar\n',
  }
  for (const [at, [name, content]] of Object.entries(files).entries()) {
    mkdirSync(dirname(join(tree, name)), { recursive: true })
    writeFileSync(join(tree, name), content)
    utimesSync(join(tree, name), 1_700_000_000, 1_700_000_000 + at)
  }
  symlinkSync('../b.ts', join(tree, 'a/link.ts'))
  symlinkSync('.', join(tree, 'a/loop'))
  return tree
}

/** Makes a directory of programs the only one, with some of the sandbox. */
function onlyWith(...names: readonly string[]): void {
  mkdirSync(programs, { recursive: true })
  for (const name of names) symlinkSync(findExecutable(name) ?? '/bin/false', join(programs, name))
  vi.stubEnv('PATH', programs)
}

describe('a search that takes too long', () => {
  const note = '[not everything was searched within 1.5 seconds; search a narrower path]'

  test.each([
    ['8-bit text', 'C'],
    ['UTF-8', 'C.UTF-8'],
  ])('in %s gives the lines that were found, and says that it was cut', async (_, locale) => {
    expect(await searchWhileHanging(locale, 'two')).toBe(`a.txt:2:two\n${note}`)
  })

  test('fails without a line, since it cannot say that there is none', async () => {
    await expect(searchWhileHanging('C', 'three')).rejects.toThrow('not everything was searched')
  })
})

describe.skipIf(findExecutable('rg') === undefined)('ripgrep answers as grep does', () => {
  const tree = makeTree()
  const patterns = [
    'foo',
    'FOO',
    '^foo$',
    'fo+',
    'foo.',
    '(foo|one)\\]?',
    'caf.$',
    'a\\+b',
    '[a-f]{2,}',
    '\\bfo\\b',
    '.*',
    '',
  ]
  const queries: Omit<Query, 'path'>[] = [
    ...patterns.map(pattern => ({ pattern })),
    ...['foo(', 'café', 'a+b = {'].map(pattern => ({ pattern, literal: true })),
    { pattern: 'foo', glob: '*.md' },
    { pattern: 'fOO', ignoreCase: true, glob: '?*.ts' },
    // Ripgrep takes these differently, or not at all.
    ...['fo{', '[\\s]', 'a+?b', '(fo)\\1', '\\<foo'].map(pattern => ({ pattern })),
    { pattern: 'foo', glob: '*.{ts,md}' },
  ]
  test.each(queries.flatMap(query => ['.', 'a'].map(path => ({ ...query, path }))))('to $pattern', async query => {
    const found = await answerOf(search(tree), query)
    onlyWith('grep')
    expect(found).toBe(await answerOf(search(tree), query))
  })
})

test('a ripgrep that fails leaves the search to grep', async () => {
  const tree = makeTree()
  onlyWith('grep')
  writeFileSync(join(programs, 'rg'), '#!/bin/sh\necho no >&2\nexit 2\n', { mode: 0o755 })
  expect(await answerOf(search(tree), { pattern: 'o[.]b' })).toBe('i.md:1:foo.bar')
})

describe('files by a glob', () => {
  test.each<readonly [string, readonly string[]]>([
    ['no program', []],
    ['a program that fails', ['fd']],
    ...(findExecutable('fdfind', 'fd') === undefined ? [] : [['fd', ['fdfind']] as const]),
  ])('come the newest first, by %s', async (_, names) => {
    const tree = makeTree()
    onlyWith(...names)
    expect((await answerOf(list(tree), { glob: '**/*.ts' })).split('\n')).toEqual([
      ...['a/link.ts', 'wide.ts', 'binary.ts', 'g.ts', 'ignored.ts', 'a-b.ts', 'a/c.ts', 'b.ts'],
    ])
    expect(await answerOf(list(tree), { glob: '**/.git' })).toBe('h/.git')
    expect(await answerOf(list(tree), { glob: '{a,x}/{c.{js,ts},none}' })).toBe('a/c.ts')
    expect(await answerOf(list(tree), { glob: '[bg].ts' })).toBe('g.ts\nb.ts')
    expect(await answerOf(list(tree), { glob: `${'*a'.repeat(60)}*b` })).toBe('No files match.')
    await expect(answerOf(list(tree), { glob: '{a,b,c}'.repeat(9) })).rejects.toThrow('fewer braces')
    expect(await answerOf(list(tree), { path: 'a', glob: 'l*' })).toContain('loop')
  })
})
