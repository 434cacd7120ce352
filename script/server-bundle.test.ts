import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { encode } from '@jridgewell/sourcemap-codec'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Bundle, makeIfChanged } from './bundle.ts'
import { migrations, serverEntries, sourceLines } from './server-bundle.ts'

const root = join(import.meta.dirname, '..')

/** Runs a module in a Node of its own, and returns its output. */
async function run(program: string): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { cwd: root })
  return stdout.trim()
}

describe('a bundle', () => {
  let folder: string
  let bundle: Bundle
  const source = (name: string, text: string) => writeFileSync(join(folder, name), text)
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-bundle-'))
    const path = relative(root, folder)
    bundle = { entry: join(path, 'entry.ts'), output: join(path, 'dist/entry.js'), options: { platform: 'node' } }
    vi.spyOn(console, 'error').mockImplementation(() => undefined)
    source('entry.ts', "import { word } from './word.ts'\nconsole.log(word)")
    source('word.ts', "export const word = 'first'")
  })
  afterEach(() => rmSync(folder, { recursive: true }))
  const built = () => readFileSync(join(folder, 'dist/entry.js'), 'utf8')

  it('is made again if a module has changed that it imports, and else stays', async () => {
    await makeIfChanged(bundle)
    expect(built()).toContain('first')
    // Until a record is older than no input, each look builds.
    await vi.waitUntil(async () => {
      await makeIfChanged(bundle)
      return existsSync(join(folder, 'dist/.entry.js.inputs'))
    })
    const { mtimeMs } = statSync(join(folder, 'dist/entry.js'))
    await makeIfChanged(bundle)
    expect(statSync(join(folder, 'dist/entry.js')).mtimeMs).toBe(mtimeMs)
    source('word.ts', "export const word = 'other'")
    await makeIfChanged(bundle)
    expect(built()).toContain('other')
  })

  it('is made again if a module is gone, and fails by its name', async () => {
    await makeIfChanged(bundle)
    rmSync(join(folder, 'word.ts'))
    await expect(makeIfChanged({ ...bundle, options: { logLevel: 'silent' } })).rejects.toThrow('./word.ts')
  })
})

describe('the bundle of the service', () => {
  it('has a file for each door, and loads each in any order', { timeout: 120_000 }, async () => {
    const doors = Object.keys(serverEntries()).filter(name => !name.endsWith('-worker'))
    expect(doors).toContain('main')
    const loaded = doors.map(name => `import('./packages/server/dist/${name}.js')`)
    const program = `console.log((await Promise.all([${loaded.join()}])).every(door => Object.keys(door).length > 0))`
    expect(await run(program)).toBe('true')
  })

  it('knows the schema that it was built with', () => {
    const digests = migrations.map(path => hash('sha256', readFileSync(join(root, path))))
    const parts = globSync('packages/server/dist/*.js', { cwd: root })
    const knowing = parts.filter(path =>
      readFileSync(join(root, path), 'utf8').includes(JSON.stringify(digests.join())),
    )
    expect(knowing).toHaveLength(1)
  })

  it('starts its thread, which answers', { timeout: 120_000 }, async () => {
    const answer = await run(`
      import { Worker } from 'node:worker_threads'
      import { once } from 'node:events'
      const thread = new Worker(new URL('packages/server/dist/output-worker.js', 'file://${root}/'), { execArgv: [] })
      await once(thread, 'message')
      thread.postMessage({ schema: '{"type":"number"}', answer: '4' })
      console.log(JSON.stringify(await once(thread, 'message')))
      process.exit()`)
    expect(JSON.parse(answer)).toEqual([{ kind: 'accepted', json: '4' }])
  })

  it('names the source and its line in a stack trace', { timeout: 120_000 }, async () => {
    const stack = await run(`
      process.setSourceMapsEnabled(true)
      const { down } = await import('./packages/server/dist/down.js')
      await down({}, { data: '/nowhere' }).catch(error => console.log(error.stack))`)
    const [path = '', line = ''] = /packages\/server\/src\/run-down\.ts:(\d+)/.exec(stack) ?? []
    expect(path).not.toBe('')
    const source = readFileSync(join(root, 'packages/server/src/run-down.ts'), 'utf8').split('\n')
    expect(source[Number(line) - 1]).toContain('there is no data directory')
  })
})

describe('the map of a bundle', () => {
  it('has one entry a line, for our own sources alone', () => {
    const sources = ['../node_modules/one/index.js', '../src/own.ts']
    const mappings = encode([
      [[0, 0, 3, 0]],
      [
        [0, 1, 5, 0],
        [9, 1, 5, 4],
      ],
      [[0, 0, 4, 0]],
      [[0, 0, 5, 0]],
      [[2, 1, 8, 2]],
    ])
    const map = JSON.parse(sourceLines(JSON.stringify({ version: 3, sources, names: ['a'], mappings })))
    const expected = encode([[[0]], [[0, 0, 5, 0]], [[0]], [[0]], [[0, 0, 8, 0]]])
    expect(map).toEqual({ version: 3, sources: ['../src/own.ts'], names: [], mappings: expected })
  })
})
