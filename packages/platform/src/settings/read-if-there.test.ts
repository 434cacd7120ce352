import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { readIfThere } from './read-if-there.ts'

test('a missing file has no text', () => {
  expect(readIfThere(join(tmpdir(), 'berth-no-such-directory', 'berth.json'))).toBeUndefined()
})

test.runIf(process.getuid?.() === 0)(
  "the refusal of another user's data directory names the owner and the remedy",
  () => {
    const directory = mkdtempSync(join(tmpdir(), 'berth-foreign-'))
    try {
      // The checkout may be closed to other users, so copy the modules to a place that any user can read.
      chmodSync(directory, 0o755)
      for (const name of ['settings/read-if-there.ts', 'kit/start-error.ts', 'kit/system-errors.ts']) {
        mkdirSync(join(directory, dirname(name)), { recursive: true, mode: 0o755 })
        copyFileSync(join(import.meta.dirname, '..', name), join(directory, name))
      }
      const dataDir = join(directory, 'data')
      mkdirSync(dataDir, { mode: 0o700 })
      const script = `import { readIfThere } from './settings/read-if-there.ts'
      try { readIfThere('data/berth.json') } catch (error) { console.log(error.name, error.message) }`
      writeFileSync(join(directory, 'try.ts'), script)
      const nobody = { uid: 65_534, gid: 65_534 }
      const node = join(directory, 'node')
      copyFileSync(process.execPath, node)
      const { stdout, stderr } = spawnSync(node, ['try.ts'], { cwd: directory, encoding: 'utf8', ...nobody })
      expect({ stdout, stderr }).toEqual({
        stdout:
          'StartError data/berth.json cannot be read: permission denied; data belongs to root and this process runs as ' +
          'uid 65534: start Berth as its owner, or choose another data directory with BERTH_DATA_DIR\n',
        stderr: '',
      })
    } finally {
      rmSync(directory, { recursive: true })
    }
  },
)
