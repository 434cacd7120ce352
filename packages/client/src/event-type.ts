import type { Event, EventDataByType } from './generated/types.ts'

/** An Event of a known type, with its `data`. */
export type EventOfType<Type extends keyof EventDataByType> = Omit<Event, 'type' | 'data'> & {
  readonly type: Type
  readonly data: EventDataByType[Type]
}

/** Returns true if an Event has this type; its `data` is typed then. It may hold more fields than the type says. */
export function isEvent<Type extends keyof EventDataByType>(
  event: Pick<Event, 'type'>,
  type: Type,
): event is EventOfType<Type> {
  return event.type === type
}
