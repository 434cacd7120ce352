import { readFileSync } from 'node:fs'

// Loaded before a process of the service (`--import`): its clock is as far off as the file says, in milliseconds, and its timers
// are not. It jumps when the process gets SIGUSR2.
const file = process.env.CLOCK_OFFSET_FILE ?? ''
const trueDate = Date
const read = () => Number(readFileSync(file, 'utf8'))
let offsetMs = read()
const now = () => trueDate.now() + offsetMs
process.on('SIGUSR2', () => {
  offsetMs = read()
})

globalThis.Date = new Proxy(trueDate, {
  construct: (target, given, made) => Reflect.construct(target, given.length === 0 ? [now()] : given, made),
  get: (target, name, receiver) => (name === 'now' ? now : Reflect.get(target, name, receiver)),
})
