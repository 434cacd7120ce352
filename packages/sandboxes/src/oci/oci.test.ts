import { once } from 'node:events'
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { spawn } from '../../../../script/testing/spawn.ts'
import type { SandboxSpec } from '../driver.ts'
import { insidePaths } from '../inside-paths.ts'
import { MissingProgramError } from '../linux/find-program.ts'
import { mountsBelow } from '../linux/unmount-below.ts'
import { makeTestImage, noContainers } from '../testing/container-image.ts'
import { builtTreeProgram, sandboxDriverContract } from '../testing/contract-suite.ts'
import { createOciDriver } from './create-driver.ts'
import { ImageError } from './engine.ts'
import type { OciOptions } from './options.ts'

const MIB = 1024 ** 2
const bounds = { memoryBytes: 256 * MIB, processes: 80, cpus: 1, fileSizeBytes: 1024 * MIB, diskBytes: 64 * MIB }
const log = { info: () => undefined, warn: () => undefined, error: () => undefined }

let image: Awaited<ReturnType<typeof makeTestImage>> | undefined
beforeAll(async () => {
  if (noContainers === undefined) image = await makeTestImage()
})
afterAll(async () => {
  await image?.[Symbol.asyncDispose]()
})

async function makeOptions(changes: Partial<OciOptions> = {}): Promise<OciOptions & { readonly root: string }> {
  const root = await mkdtemp(join(tmpdir(), 'berth-oci-'))
  await chmod(root, 0o700)
  const dataDir = join(root, 'data')
  const bundlesDir = join(root, 'bundles')
  await mkdir(dataDir)
  await mkdir(bundlesDir)
  await copyFile(builtTreeProgram, join(bundlesDir, 'tree.cjs'))
  await writeFile(join(bundlesDir, 'engine.cjs'), 'built in\n')
  const { image: name = '' } = image ?? {}
  return {
    dataDir,
    nodePath: process.execPath,
    bundlesDir,
    bounds,
    log,
    image: name,
    runtime: 'runc',
    spares: 1,
    root,
    ...changes,
  }
}

/** Creates a sandbox in a fresh Node process, which is killed right after the create. */
async function createThenKill(options: OciOptions, spec: SandboxSpec): Promise<void> {
  const { log: _, ...plain } = options
  const driverUrl = new URL('./create-driver.ts', import.meta.url).href
  const program = `
    const { createOciDriver } = await import(${JSON.stringify(driverUrl)})
    const log = { info() {}, warn: console.error, error: console.error }
    const driver = await createOciDriver({ ...${JSON.stringify(plain)}, log })
    await driver.create(${JSON.stringify(spec)})
    process.stdout.write('created')
    setInterval(() => {}, 1000)`
  await using child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [output] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])
  await child[Symbol.asyncDispose]()
  expect(String(output)).toBe('created')
}

if (noContainers !== undefined)
  describe.skip(`containers: ${noContainers}`, () => it('are not tested', () => undefined))
else {
  sandboxDriverContract('podman with runc', async () => {
    const options = await makeOptions()
    const driver = await createOciDriver(options)
    return {
      driver,
      node: insidePaths.node,
      bounds,
      hostPaths: [options.root, options.dataDir, join(options.dataDir, 'leases'), import.meta.dirname],
      shows: { sys: true },
      enforces: { cpu: true, wholeMemory: true, exactDisk: true },
      createInProcessThatIsKilled: spec => createThenKill(options, spec),
      async dispose() {
        await driver[Symbol.asyncDispose]()
        // A process killed in `create` may have left a spare; opening the driver removes it.
        await (await createOciDriver({ ...options, spares: 0 }))[Symbol.asyncDispose]()
        expect(await readdir(join(options.dataDir, 'blanks'))).toEqual([])
        expect(await mountsBelow(options.root)).toEqual([])
        await rm(options.root, { recursive: true, force: true })
      },
    }
  })

  describe('the driver for containers', () => {
    const clean: (() => Promise<unknown>)[] = []
    afterEach(async () => {
      for (const one of clean.splice(0).toReversed()) await one()
    })
    const opened = async (changes: Partial<OciOptions> = {}) => {
      const options = await makeOptions(changes)
      clean.push(() => rm(options.root, { recursive: true, force: true }))
      const driver = await createOciDriver(options)
      clean.push(() => driver[Symbol.asyncDispose]())
      return { driver, ...options }
    }

    it('says what is missing: podman, its runtime, the image', async () => {
      const options = await makeOptions()
      clean.push(() => rm(options.root, { recursive: true, force: true }))
      const opening = (changes: Partial<OciOptions>) => createOciDriver({ ...options, ...changes })
      await expect(opening({ engine: 'no-such-podman' })).rejects.toThrow(/apt-get install podman/)
      await expect(opening({ runtime: 'no-such-runc' })).rejects.toThrow(MissingProgramError)
      await expect(opening({ image: 'localhost/no-such-image:1' })).rejects.toThrow(ImageError)
      await expect(opening({ image: 'localhost/no-such-image:1' })).rejects.toThrow(/podman pull/)
    })

    it('shows a runtime, extensions, objects and an engine in a container that was started before they were known', async () => {
      let objects = ''
      const { driver, root } = await opened({ objects: id => join(objects, id) })
      objects = root
      for (const [name, content] of [
        ['one', 'runtime '],
        ['two', 'extension '],
        ['mirror', 'objects '],
      ] as const) {
        await mkdir(join(root, name))
        await writeFile(join(root, name, 'file'), content)
      }
      await driver.prepared()
      async function* engine() {
        yield Buffer.from('own engine')
      }
      const shown = ['/opt/runtime/file', '/opt/extensions/x/file', '/opt/source/objects/file', insidePaths.engine]
      const mounts = "grep -E ' /opt/(runtime|extensions/x|source/objects|berth/bundles/engine.cjs) ' /proc/self/mounts"
      const script = `cat ${shown.join(' ')}; ${mounts} | wc -l; ${mounts} | grep -c ' rw[, ]'; sleep 1000`
      await driver.create({
        ...{ leaseId: 'shown', command: ['sh', '-c', `{ ${script}; } > /workspace/said`], bounds, mounts: [] },
        ...{ egress: { reach: [] }, runtime: join(root, 'one'), objects: 'mirror', engine: engine() },
        extensions: [{ id: 'x', directory: join(root, 'two') }],
      })
      clean.push(() => driver.destroy('shown'))
      const marker = join(root, 'data/leases/shown/disk/files/workspace/said')
      await expect.poll(() => readFile(marker, 'utf8')).toBe('runtime extension objects own engine5\n0\n')
    })
  })
}
