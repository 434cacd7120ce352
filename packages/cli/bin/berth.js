#!/usr/bin/env node
// `berth --help` is started most, by people and by completions, so its text comes from a file that the build wrote, unless
// a terminal is so narrow that the program wraps its lines. Everything else starts the program.
import { readFileSync } from 'node:fs'

/** The text of `berth --help`, or null if this process asks for something else or the program has not been built. */
function writtenHelp() {
  const [flag, ...more] = process.argv.slice(2)
  if (flag !== '--help' || more.length > 0) return null
  try {
    const text = readFileSync(new URL('../dist/help.txt', import.meta.url), 'utf8')
    const fits = line => line.length < process.stdout.columns
    return !process.stdout.isTTY || text.split('\n').every(fits) ? text : null
  } catch {
    return null
  }
}

const help = writtenHelp()
if (help === null) await import('./start.js')
else process.stdout.write(help)
