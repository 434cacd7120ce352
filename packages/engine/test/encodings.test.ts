import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { callsOf, type Engine, openEngine } from './support/engine.ts'
import { call } from './support/scripted-gateway.ts'

let engine: Engine
afterEach(() => engine[Symbol.asyncDispose]())

const latin1 = (text: string) => Buffer.from(text, 'latin1')
const utf16 = (text: string) => Buffer.from(text, 'utf16le')
/** UTF-8 in which one byte is of another encoding. */
const mixed = (text: string) => Buffer.concat([Buffer.from(`naïve\n${text}`), Buffer.from([0x0a, 0xe9, 0x0a])])

/** Has a tool called on one file and returns its bytes and the result. */
async function useTool(file: string | Buffer | null, use: ReturnType<typeof call>) {
  engine = await openEngine({
    prepare: workspace => {
      if (file !== null) writeFileSync(join(workspace, 'f'), file)
    },
  })
  engine.gateway.next(use, { text: 'done' })
  const { updates } = await engine.prompt('go')
  return { bytes: readFileSync(join(engine.workspace, 'f')), results: callsOf(updates) }
}

const edit = (oldText: string, newText: string) => call('edit', { path: 'f', edits: [{ oldText, newText }] })
const write = (content: string) => call('write', { path: 'f', content })

describe('an edit keeps every byte outside it', () => {
  test.each<[string, string | Buffer, [string, string], string | Buffer]>([
    ['in Latin-1', latin1('né\none\n\xa4\n'), ['one', 'été'], latin1('né\nété\n\xa4\n')],
    ['in Windows-1252', latin1('\x80 1\n\x93a\x94\n'), ['€ 1', '€ 2 …'], latin1('\x80 2 \x85\n\x93a\x94\n')],
    ['in an encoding that is not known', latin1('\x82\xa0\x81\none'), ['one', 'two'], latin1('\x82\xa0\x81\ntwo')],
    ['in UTF-16', utf16('\ufeffné\r\none\r\n'), ['one', 'zwölf'], utf16('\ufeffné\r\nzwölf\r\n')],
    ['in UTF-16, big-endian', utf16('\ufeffone').swap16(), ['one', 'two'], utf16('\ufefftwo').swap16()],
    ['in UTF-8 with single other bytes', mixed('né'), ['naïve\nné', 'naïve\nnœ'], mixed('nœ')],
    ['after a byte order mark', '\ufeffone\r\ntwo', ['one', 'three'], '\ufeffthree\r\ntwo'],
    ['in a file of mixed line ends', 'a\r\nb\nc\rd\r\n', ['b', 'x'], 'a\r\nx\nc\rd\r\n'],
    ['that its context repeats', 'a\r\nb\nc\r\nd\n', ['a\nb\nc\nd', 'a\nx\nc\nd'], 'a\r\nx\nc\r\nd\n'],
    ['of each line end that is replaced', 'a\nb\r\nc\nd', ['b\nc\n', 'x\ny\n'], 'a\nx\r\ny\nd'],
    ['and gives a new line the end of the line edited', 'a\nb\r\nc\n', ['b', 'b\nx'], 'a\nb\r\nx\r\nc\n'],
    ['and gives a new line the end of the line that it follows', 'a\nb\r\nc\n', ['b\n', 'b\nx\n'], 'a\nb\r\nx\r\nc\n'],
    ['of typographic context', '“a” – b  \n“c”\n', ['"a" - b\n"c"', '"a" - x\n"c"'], '“a” – x  \n“c”\n'],
    ['of compatible characters', 'ﬁne ½ one\n', ['fine ½ one', 'fine ½ two'], 'ﬁne ½ two\n'],
  ])('%s', async (_, before, [oldText, newText], after) => {
    const { bytes, results } = await useTool(before, edit(oldText, newText))
    expect(results).toEqual([{ call: 'edit completed', text: 'Replaced one block in f.' }])
    expect(bytes).toEqual(Buffer.from(after))
  })

  test('with several edits of one file', async () => {
    const edits = [
      { oldText: 'c', newText: 'y\nz' },
      { oldText: 'a\n', newText: '' },
    ]
    const { bytes } = await useTool('a\r\nb\nc\r\nd', call('edit', { path: 'f', edits }))
    expect(bytes.toString()).toBe('b\ny\nz\r\nd')
  })

  test.each<[string, string | Buffer, [string, string], string]>([
    ['of a binary file', latin1('\x89PNG\0\xff'), ['PNG', 'x'], 'f is not text. Change it with a program in bash.'],
    ['by a character that the encoding lacks', latin1('é one'), ['one', '→'], 'Windows-1252 has no "→"'],
    ['of text that is not there', latin1('é one'), ['two', 'x'], 'oldText is not in the file'],
    ['of text that is there twice', 'one one', ['one', 'x'], 'more than once'],
    ['of half a character', 'ﬁne', ['f', 'x'], 'oldText is not in the file'],
    ['that changes nothing', 'one\r\n', ['one\n', 'one\n'], 'changes nothing'],
  ])('and is refused %s', async (_, before, [oldText, newText], reason) => {
    const { bytes, results } = await useTool(before, edit(oldText, newText))
    expect(results).toEqual([{ call: 'edit failed', text: expect.stringContaining(reason) }])
    expect(bytes).toEqual(Buffer.from(before))
  })
})

describe('a write over a file', () => {
  test.each<[string, string | Buffer, string, string | Buffer, string]>([
    ['keeps its 8-bit encoding', latin1('é'), 'ü', latin1('ü'), 'the encoding Windows-1252'],
    ['keeps UTF-16', utf16('\ufeffa'), 'ü', utf16('\ufeffü'), 'a byte order mark and the encoding UTF-16'],
    ['keeps CRLF', 'a\r\nb\r\n', 'x\ny\n', 'x\r\ny\r\n', 'CRLF line ends'],
    ['keeps a byte order mark', '\ufeffa\n', 'x\n', '\ufeffx\n', 'a byte order mark'],
  ])('%s and says so', async (_, before, content, after, kept) => {
    const { bytes, results } = await useTool(before, write(content))
    expect(results).toMatchObject([{ call: 'write completed', text: `Wrote f. It has ${kept} as before.` }])
    expect(bytes).toEqual(Buffer.from(after))
  })

  test.each<[string, Buffer, string]>([
    ['8-bit text, of a character that it lacks', latin1('é'), 'Windows-1252 has no "→"'],
    ['text with bytes that would be lost', mixed(''), 'would be lost'],
    ['a binary file', latin1('\x89\0'), 'f is not text'],
  ])('is refused over %s, with a way on', async (_, before, reason) => {
    const { bytes, results } = await useTool(before, write('→'))
    expect(results).toEqual([{ call: 'write failed', text: expect.stringContaining(reason) }])
    expect(results[0]?.text).toContain('remove it with rm first')
    expect(bytes).toEqual(before)
  })
})

describe('a file that is not UTF-8', () => {
  test.each<[string, Buffer, string, string]>([
    ['8-bit text', latin1('n\xe9 \x80'), 'né €', 'Windows-1252'],
    ['UTF-16', utf16('\ufeffné'), '\ufeffné', 'This file is UTF-16'],
    ['UTF-8 with other bytes', mixed('x'), 'naïve\nx\n\ufffd\n', 'not wholly UTF-8'],
    ['binary', latin1('a\xff\x01\0'), 'a\ufffd\x01\ufffd', 'not text'],
  ])('is read with a word about its encoding: %s', async (_, file, text, reason) => {
    const { results } = await useTool(file, call('read', { path: 'f' }))
    const [result] = results
    expect(result?.call).toBe('read completed')
    expect(result?.text?.replaceAll('\0', '\ufffd')).toContain(text)
    expect(result?.text).toContain(reason)
  })

  test('is searched, also for its own characters', async () => {
    engine = await openEngine({
      prepare(workspace) {
        writeFileSync(join(workspace, 'old.c'), latin1('int one; // caf\xe9\n'))
        writeFileSync(join(workspace, 'new.c'), 'int one; // café\n')
        writeFileSync(join(workspace, 'picture'), latin1('\x89\0one\n'))
      },
    })
    engine.gateway.next(call('search', { pattern: 'int one' }), call('search', { pattern: 'caf.$', path: 'old.c' }), {
      text: 'done',
    })
    const { updates } = await engine.prompt('go')
    const note = '\n[lines of files that are not UTF-8 stand last; read says how it shows them]'
    expect(callsOf(updates)).toEqual([
      { call: 'search completed', text: `new.c:1:int one; // café\nold.c:1:int one; // café${note}` },
      { call: 'search completed', text: `old.c:1:int one; // café${note}` },
    ])
  })
})

describe('a file whose name is not UTF-8', () => {
  const named = (workspace: string, name: string) => latin1(join(workspace, name))

  test('is listed and searched under a name that bash takes', async () => {
    engine = await openEngine({
      prepare(workspace) {
        mkdirSync(named(workspace, "d\xe9'"))
        writeFileSync(named(workspace, "d\xe9'/one.c"), 'int one;\n')
        writeFileSync(named(workspace, 'caf\xe9.c'), latin1('int one; // \xe9\n'))
        writeFileSync(join(workspace, 'é.c'), 'int one;\n')
        // Of the same age, so that names decide the order.
        for (const name of ["d\xe9'/one.c", 'caf\xe9.c']) utimesSync(named(workspace, name), 1, 1)
        utimesSync(join(workspace, 'é.c'), 1, 1)
      },
    })
    engine.gateway.next(
      call('list', {}),
      call('list', { glob: '**/*.c' }),
      call('search', { pattern: 'int one' }),
      call('bash', { command: "cat $'d\\351\\'/one.c'" }),
      { text: 'done' },
    )
    const { updates } = await engine.prompt('go')
    const note = "[only bash can use names in $'…', which are not UTF-8]"
    const others = '[lines of files that are not UTF-8 stand last; read says how it shows them]'
    const [listed, found, searched, shown] = callsOf(updates).map(({ text }) => text?.trimEnd().split('\n'))
    expect(listed).toEqual(["$'caf\\351.c'", "$'d\\351\\'/'", 'é.c', note])
    expect(found).toEqual(["$'caf\\351.c'", "$'d\\351\\'/one.c'", 'é.c', note])
    const lines = ["$'d\\351\\'/one.c':1:int one;", 'é.c:1:int one;']
    expect(searched?.slice(0, 2).toSorted()).toEqual(lines)
    expect(searched?.slice(2)).toEqual(["$'caf\\351.c':1:int one; // é", others, note])
    expect(shown).toEqual(['int one;'])
  })

  test.each(['caf\ufffd', 'caf\ud800'])('is not written under another name, nor one like %j', async path => {
    engine = await openEngine({ prepare: workspace => writeFileSync(named(workspace, 'caf\xe9'), 'old') })
    engine.gateway.next(call('write', { path, content: 'new' }), { text: 'done' })
    const { updates } = await engine.prompt('go')
    expect(callsOf(updates)).toEqual([{ call: 'write failed', text: expect.stringContaining('holds U+FFFD') }])
    expect(readdirSync(engine.workspace)).toHaveLength(1)
  })
})

test.each<[string, string | null]>([
  ['a new file', null],
  ['UTF-8', 'a'],
  ['UTF-16', '\ufeffa'],
])('half a surrogate pair is not written: %s', async (kind, before) => {
  const file = before === null ? null : kind === 'UTF-16' ? utf16(before) : Buffer.from(before)
  engine = await openEngine({
    prepare: workspace => {
      if (file !== null) writeFileSync(join(workspace, 'f'), file)
    },
  })
  engine.gateway.next(write('a \ud83d'), { text: 'done' })
  const { updates } = await engine.prompt('go')
  expect(callsOf(updates)).toEqual([
    { call: 'write failed', text: expect.stringContaining('half of a surrogate pair') },
  ])
  expect(readdirSync(engine.workspace)).toHaveLength(file === null ? 0 : 1)
  if (file !== null) expect(readFileSync(join(engine.workspace, 'f'))).toEqual(file)
})
