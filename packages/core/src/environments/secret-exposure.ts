import type { Issue, SecretPin, WriteSecret } from '@berth/contract'
import { canonicalJson } from '@berth/platform/kit/request-hash.ts'
import { completeRule, type EgressRule, isNoWider, ruleFaults, valueFault } from './egress-rule.ts'

/** A pin as a revision stores it: without `egress`, sandboxes get the value as a variable. */
export interface StoredPin {
  readonly name: string
  readonly version: number
  readonly egress?: EgressRule
}

/** Returns a pin as it is answered. */
export function toPin({ name, version, egress }: StoredPin): SecretPin {
  if (egress === undefined) return { name, version, exposure: 'variable' }
  const { hosts, methods, paths, put, setup } = egress
  const listed = {
    ...(methods !== undefined && { methods: methods as NonNullable<SecretPin['egress']>['methods'] & {} }),
    ...(paths !== undefined && { paths: [...paths] }),
  }
  return { name, version, exposure: 'egress', egress: { hosts: [...hosts], ...listed, put, setup } }
}

/** Returns whether a caller wrote down this pin. What the caller leaves out of it is not compared. */
export function isPin(
  sent: Pick<SecretPin, 'name' | 'version'> & Partial<SecretPin>,
  { name, version, egress }: StoredPin,
): boolean {
  if (sent.name !== name || sent.version !== version) return false
  if (sent.exposure !== undefined && (sent.exposure === 'egress') !== (egress !== undefined)) return false
  return sent.egress === undefined || canonicalJson(completeRule(sent.egress)) === canonicalJson(egress ?? null)
}

/** What a write makes of a secret. */
export type SettledExposure =
  | { readonly egress: EgressRule | null; readonly needsValue: string | null }
  | { readonly faults: readonly Issue[] }

/**
 * Settles how sandboxes get a secret that is written: as the caller says, or else as now. So a rotation that names
 * nothing but a value never turns an egress secret into a variable.
 * @param present null if there is no such secret
 * @returns with `needsValue`, why the write may not keep the present value
 */
export function settleExposure(
  { exposure, egress }: Pick<WriteSecret, 'exposure' | 'egress'>,
  present: StoredPin | null,
): SettledExposure {
  const fault = (path: string, message: string) => ({ faults: [{ path: [path], message }] })
  const now = present?.egress ?? null
  const settled = exposure ?? (egress !== undefined || now !== null ? 'egress' : 'variable')
  if (present === null && settled === 'variable' && egress === undefined)
    return { egress: null, needsValue: 'is needed: there is no secret of this name yet' }
  if (settled === 'variable') {
    if (egress !== undefined) return fault('egress', 'needs the exposure `egress`')
    return { egress: null, needsValue: now === null ? null : OPENS }
  }
  if (egress === undefined) {
    return now === null
      ? fault('egress', 'is needed for the exposure `egress`: say which hosts get the value, and where in a request')
      : { egress: now, needsValue: null }
  }
  const faults = ruleFaults(egress)
  if (faults.length > 0) return { faults }
  const rule = completeRule(egress)
  if (present === null) return { egress: rule, needsValue: 'is needed: there is no secret of this name yet' }
  // A variable is open to every host already.
  return { egress: rule, needsValue: now === null || isNoWider(rule, now) ? null : OPENS }
}

const OPENS = 'is needed: the change lets the value go where it could not go before, so enter it again'

/** Returns the faults of a value, given where it is put. */
export function valueFaults(value: string, egress: EgressRule | null): readonly Issue[] {
  const fault = egress === null ? null : valueFault(value, egress)
  return fault === null ? [] : [{ path: ['value'], message: fault }]
}
