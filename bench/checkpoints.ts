// Compares sealing and restoring a tree with tar and zstd, in turns: a first seal, a seal after touching 20 files, a
// restore, a restore beside other content as a cache hit is one, and the memory of the sealing process. Run as: node bench/checkpoints.ts [rounds] [directory]
import { execFileSync, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { appendFileSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { workspaceLimits } from '../packages/core/src/checkpoints/limits.ts'
import { restoreTree } from '../packages/core/src/checkpoints/restore-tree.ts'
import { sealTree } from '../packages/core/src/checkpoints/seal-tree.ts'
import { FileBlobs } from '../packages/platform/src/storage/blobs/file-blobs.ts'
import { directoryTree, type TreePlace } from '../packages/sandboxes/src/confined/directory-tree.ts'
import { median, show } from './support/statistics.ts'

const LEVEL = 3
const bounds = { seal: 1.5, again: 0.1, restore: 1.3, hit: 1.3, memoryMiB: 150 }
const uid = process.getuid?.() === 0 ? 190_017 : undefined
const program = {
  nodePath: process.execPath,
  programPath: join(import.meta.dirname, '../packages/supervisor/dist/tree.cjs'),
}
const print = (line: string) => process.stdout.write(`${line}\n`)

/** Returns a fixed sequence of numbers below one. */
function sequence(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/**
 * Returns a source of text that zstd compresses about as well as source code: few frequent words and repeated lines.
 */
function textSource(random: () => number): (length: number) => Buffer {
  const pick = <T>(list: readonly T[], skew: number) => list[Math.floor(list.length * random() ** skew)]
  const letters = (count: number) =>
    Array.from({ length: count }, () => String.fromCharCode(97 + Math.floor(random() * 26))).join('')
  const words = Array.from({ length: 6000 }, () => letters(2 + Math.floor(random() * 10)))
  const separators = [' ', ' ', ' ', '(', ') ', '.', ', ', ' = ', ';\n  ', ' {\n    ', '}\n', "'"]
  const line = () =>
    Array.from({ length: 3 + Math.floor(random() * 8) }, () => `${pick(words, 3)}${pick(separators, 1)}`).join('')
  const lines = Array.from({ length: 30_000 }, line)
  return length => {
    const parts: string[] = []
    for (let have = 0; have < length; ) {
      const next = `${random() < 0.7 ? pick(lines, 4) : line()}\n`
      parts.push(next)
      have += next.length
    }
    return Buffer.from(parts.join('')).subarray(0, length)
  }
}

/** Creates a tree of files of very different lengths, one in twenty of them incompressible. */
function makeTree(path: string, files: number, bytes: number): void {
  const random = sequence(42)
  const text = textSource(random)
  for (let n = 0; n < files; n++) {
    const directory = join(path, `d${n % 40}`, `s${Math.floor(n / 40) % 25}`)
    if (n < 1000) mkdirSync(directory, { recursive: true })
    const length = Math.max(1, Math.floor((-Math.log(1 - random()) * bytes) / files))
    writeFileSync(join(directory, `file-${n}.ts`), n % 20 === 0 ? randomBytes(length) : text(length))
  }
  own(path)
}

function own(path: string): void {
  if (uid !== undefined) execFileSync('chown', ['-R', `${uid}:${uid}`, path])
}

function place(path: string): TreePlace {
  return { path, ...(uid !== undefined && { uid }) }
}

function emptyTarget(path: string): TreePlace {
  rmSync(path, { recursive: true, force: true })
  mkdirSync(path)
  if (uid !== undefined) chownSync(path, uid, uid)
  return place(path)
}

async function timed<T>(work: () => T | Promise<T>): Promise<{ readonly ms: number; readonly result: T }> {
  const start = performance.now()
  const result = await work()
  return { ms: performance.now() - start, result }
}

const shell = (script: string) => execFileSync('sh', ['-ec', script], { stdio: ['ignore', 'inherit', 'inherit'] })

async function seal(dir: string, tree: string, previous?: Buffer) {
  const result = await sealTree({
    tree: directoryTree(program, place(tree), join(dir, 'baselines')),
    blobs: await FileBlobs.open(join(dir, 'blobs')),
    limits: workspaceLimits,
    previous,
    level: LEVEL,
  })
  if (result.kind === 'over_cap') throw new Error(`over the cap of ${result.cap}: ${result.atLeast}`)
  return result
}

async function restore(dir: string, manifest: Buffer, target: TreePlace, only?: readonly string[]) {
  const blobs = await FileBlobs.open(join(dir, 'blobs'))
  const tree = directoryTree(program, target, join(dir, 'restored-baselines'))
  const paths = only === undefined ? {} : { only }
  return restoreTree({ tree, manifest, blobs, limits: workspaceLimits, ...paths })
}

function touchSome(tree: string, count: number): void {
  for (let n = 0; n < count; n++) {
    const directory = join(tree, `d${n * 2}`, 's3')
    appendFileSync(join(directory, readdirSync(directory)[n % 5] ?? ''), `touched ${performance.now()}`)
  }
}

/** Measures one round. The two sides take turns at going first, and `sync` quiets the disk before each. */
async function compare(dir: string, tree: string, round: number) {
  const quiet = () => shell('sync')
  const archive = join(dir, 'archive')
  for (const name of ['blobs', 'baselines', 'restored-baselines'])
    rmSync(join(dir, name), { recursive: true, force: true })
  const packMs = async () =>
    (await timed(() => shell(`tar -C ${tree} -cf - . | zstd -q -${LEVEL} -f -o ${archive}`))).ms
  quiet()
  let pack = round % 2 === 0 ? await packMs() : 0
  const first = await timed(() => seal(dir, tree))
  quiet()
  if (pack === 0) pack = await packMs()
  let { manifest } = first.result
  const agains: number[] = []
  for (let time = 0; time < 3; time++) {
    touchSome(tree, 20)
    await sleep(100)
    const again = await timed(() => seal(dir, tree, manifest))
    manifest = again.result.manifest
    agains.push(again.ms)
  }
  const unpackMs = async () => {
    const target = emptyTarget(join(dir, 'target'))
    quiet()
    return (await timed(() => shell(`zstd -q -d -c ${archive} | tar -C ${target.path} --no-same-owner -xf -`))).ms
  }
  let unpack = round % 2 === 0 ? await unpackMs() : 0
  const target = emptyTarget(join(dir, 'target'))
  quiet()
  const restored = await timed(() => restore(dir, manifest, target))
  const alongside = emptyTarget(join(dir, 'target'))
  quiet()
  const hit = await timed(() => restore(dir, manifest, alongside, readdirSync(tree)))
  if (unpack === 0) unpack = await unpackMs()
  return { pack, first: first.ms, again: median(agains), unpack, restore: restored.ms, hit: hit.ms }
}

/** Seals 250 MiB of incompressible files, and reports the memory used beyond sealing almost nothing. */
async function measureMemory(dir: string): Promise<void> {
  const tree = join(dir, 'incompressible')
  mkdirSync(join(tree, 'small'), { recursive: true })
  for (let n = 0; n < 250; n++) writeFileSync(join(tree, `file-${n}`), randomBytes(1024 * 1024))
  own(tree)
  await seal(join(dir, 'idle'), join(tree, 'small'))
  const idle = process.memoryUsage.rss()
  let peak = idle
  const sampling = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }, 5)
  const sealed = await seal(join(dir, 'memory'), tree)
  clearInterval(sampling)
  process.send?.({ overIdleMiB: (peak - idle) / 1024 ** 2, storedBytes: sealed.storedBytes })
}

async function memoryInOwnProcess(dir: string): Promise<number> {
  const child = fork(import.meta.filename, ['memory', dir])
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  child.on('message', (message: { overIdleMiB: number }) => resolve(message.overIdleMiB))
  child.on('exit', code => reject(new Error(`the measured process ended: ${code}`)))
  return promise
}

const [mode = '7', where = tmpdir()] = process.argv.slice(2)
if (mode === 'memory') {
  await measureMemory(where)
} else {
  const dir = mkdtempSync(join(where, 'berth-bench-'))
  try {
    await figures(dir, Number(mode))
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

async function figures(dir: string, rounds: number): Promise<void> {
  const tree = join(dir, 'tree')
  makeTree(tree, 20_000, 300e6)
  await sleep(100)
  await compare(dir, tree, 0)
  const all: Awaited<ReturnType<typeof compare>>[] = []
  for (let round = 0; round < rounds; round++) {
    const one = await compare(dir, tree, round)
    all.push(one)
    print(
      `${Object.entries(one)
        .map(([name, ms]) => `${name} ${show(ms, 0)}`)
        .join(' ms, ')} ms`,
    )
  }
  const of = (pick: (one: (typeof all)[number]) => number) => median(all.map(pick))
  const sealRatio = of(one => one.first) / of(one => one.pack)
  const againRatio = of(one => one.again) / of(one => one.first)
  const restoreRatio = of(one => one.restore) / of(one => one.unpack)
  const hitRatio = of(one => one.hit) / of(one => one.unpack)
  const memoryMiB = await memoryInOwnProcess(dir)
  print(`seal_ratio=${show(sealRatio)} bound=${bounds.seal}`)
  print(`again_ratio=${show(againRatio, 3)} bound=${bounds.again}`)
  print(`restore_ratio=${show(restoreRatio)} bound=${bounds.restore}`)
  print(`hit_ratio=${show(hitRatio)} bound=${bounds.hit}`)
  print(`memory_over_idle_mib=${show(memoryMiB, 0)} bound=${bounds.memoryMiB}`)
  if (
    sealRatio > bounds.seal ||
    againRatio > bounds.again ||
    restoreRatio > bounds.restore ||
    hitRatio > bounds.hit ||
    memoryMiB > bounds.memoryMiB
  ) {
    process.exitCode = 1
  }
}
