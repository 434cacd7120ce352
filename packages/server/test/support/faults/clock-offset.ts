// Loaded before a process of the service (`--import`): its clock is as far off as the variable says, and its timers are not.
const offsetMs = Number(process.env.CLOCK_OFFSET_MS)
const trueDate = Date
const now = () => trueDate.now() + offsetMs

globalThis.Date = new Proxy(trueDate, {
  construct: (target, given, made) => Reflect.construct(target, given.length === 0 ? [now()] : given, made),
  get: (target, name, receiver) => (name === 'now' ? now : Reflect.get(target, name, receiver)),
})
