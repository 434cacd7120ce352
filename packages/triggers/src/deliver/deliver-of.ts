import { limits, type TriggerDeliver } from '@berth/contract'
import { storable } from '@berth/core/sessions/log/bounded-text.ts'
import { fillTemplate } from '../message-template.ts'
import type { TriggerRow } from '../trigger-sql.ts'
import { titleLine } from './text-of.ts'

/**
 * Returns how the changes of a delivery are published, with the title filled in by its payload; null if the trigger does not
 * publish. A title that the payload leaves empty is made of the Run's own words.
 */
export function deliverOf({ deliver }: TriggerRow, payload: unknown): TriggerDeliver | null {
  if (deliver === null || deliver.title === undefined) return deliver
  const { title: template, ...rest } = deliver
  const filled = fillTemplate(template, payload, limits.messageCharacters)
  const title = filled.kind === 'message' ? titleLine(storable(filled.message)) : ''
  return title === '' ? rest : { ...rest, title }
}
