// Loaded ahead of a program (`--import`), so that a bench can ask it what it holds: on SIGUSR2 it collects its garbage and
// writes the bytes that are left, in the heap and outside, to the file that LIVE_MEMORY_FILE names.
import { renameSync, writeFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

process.on('SIGUSR2', () => {
  collect()
  collect()
  const { heapUsed, external } = process.memoryUsage()
  const file = process.env['LIVE_MEMORY_FILE'] ?? ''
  writeFileSync(`${file}.part`, String(heapUsed + external))
  renameSync(`${file}.part`, file)
})
