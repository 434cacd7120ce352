import { useNavigate, useSearch } from '@tanstack/react-router'
import type { Listing } from '../routing/to.ts'
import { forgetKept } from './kept-form.ts'

/** The dialog that is open over a page of the organization. It is in the URL: a sign-in in between returns to it. */
export interface Dialog {
  readonly name: string | undefined
  /** Id of its subject. */
  readonly of: string | undefined
  readonly open: (name: string, of?: string) => void
  /** Closes it, and forgets the values of its form. */
  readonly close: () => void
}

/** Returns the open dialog of the page. */
export function useDialog(): Dialog {
  const { dialog: name, of } = useSearch({ strict: false }) as Listing
  const navigate = useNavigate()
  const show = (dialog: string | undefined, about: string | undefined) =>
    void navigate({
      to: '.',
      search: before => ({ ...before, dialog, of: about }) as never,
      replace: dialog === undefined,
    })
  return {
    name,
    of,
    open: show,
    close: () => {
      if (name !== undefined) forgetKept(keptAs(name, of))
      show(undefined, undefined)
    },
  }
}

/** Returns the name under which the form of a dialog is kept. */
export function keptAs(dialog: string, of = ''): string {
  return `${dialog}.${of}`
}
