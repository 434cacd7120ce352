// Preload this (`--import`) to measure a program's live memory. On SIGUSR2 it collects garbage and writes the remaining
// bytes, in the heap and outside, to the file named by LIVE_MEMORY_FILE.
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
