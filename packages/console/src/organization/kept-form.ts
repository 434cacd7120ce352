import { type UseMutationResult, useMutation } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { type DefaultValues, type FieldValues, type UseFormReturn, useForm } from 'react-hook-form'

/** The faults of a form, by field. The first one is on the form's button. */
export type Faults<T> = { readonly [K in keyof T]?: string | undefined }

/** A form that stays in the tab while its person is away for a sign-in, and the action that sends it. */
export interface KeptForm<T extends FieldValues, R = unknown> {
  readonly fields: UseFormReturn<T>
  readonly values: T
  readonly faults: Faults<T>
  readonly action: UseMutationResult<R, Error, void>
}

/** Returns fields whose values stay in the tab until `forgetKept` is called with their name. They must hold no secret. */
export function useKeptFields<T extends FieldValues>(name: string, initial: T): UseFormReturn<T> {
  const [start] = useState(() => readKept(name, initial))
  const fields = useForm<T>({ defaultValues: start as DefaultValues<T> })
  const { subscribe } = fields
  useEffect(
    () => subscribe({ formState: { values: true }, callback: ({ values }) => keep(name, values) }),
    [subscribe, name],
  )
  return fields
}

/**
 * Returns a form of kept fields, which are forgotten once it is sent.
 *
 * @param form `name` is the one under which it is kept; `faultsOf` judges values that are to be sent, so it tells of empty
 * fields too
 */
export function useKeptForm<T extends FieldValues, R>(form: {
  name: string
  initial: T
  faultsOf?: (values: T) => Faults<T>
  send: (values: T) => Promise<R>
  onSent?: (result: R) => unknown
}): KeptForm<T, R> {
  const { name, initial, faultsOf, send, onSent } = form
  const fields = useKeptFields(name, initial)
  const action = useMutation({
    mutationFn: () => send(fields.getValues()),
    onSuccess: result => {
      forgetKept(name)
      return onSent?.(result)
    },
  })
  const values = fields.watch()
  return { fields, values, faults: faultsOf?.(values) ?? {}, action }
}

/** Returns why a form cannot be sent; null if it can. */
export function obstacleOf<T>(faults: Faults<T>): string | null {
  return Object.values<string | undefined>(faults).find(fault => fault !== undefined) ?? null
}

const keyOf = (name: string) => `berth.form.${name}`

/** Returns the values that a form had when its person left the page, or else its initial values. */
function readKept<T>(name: string, initial: T): T {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(keyOf(name)) ?? 'null')
    return kept === null ? initial : { ...initial, ...(kept as T) }
  } catch {
    return initial
  }
}

function keep(name: string, values: unknown): void {
  try {
    sessionStorage.setItem(keyOf(name), JSON.stringify(values))
  } catch {
    // Storage is full or blocked; the form itself still has it.
  }
}

/** Forgets the values of a form. */
export function forgetKept(name: string): void {
  sessionStorage.removeItem(keyOf(name))
}
