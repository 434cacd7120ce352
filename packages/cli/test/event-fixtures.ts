import type { Event } from '@berth/client'

/** Returns an Event of a Run, one second after its predecessor. */
export function runEvent(sequence: number, type: string, data: Record<string, unknown>): Event {
  return {
    id: `0191d5a0-0000-7000-9000-${String(sequence).padStart(12, '0')}`,
    type,
    createdAt: new Date(Date.UTC(2026, 0, 1, 0, 0, sequence)).toISOString(),
    sequence,
    subject: { sessionId: '0191d5a0-0000-7000-8000-000000000001', runId: '0191d5a0-0000-7000-8000-0000000000aa' },
    data,
  }
}
