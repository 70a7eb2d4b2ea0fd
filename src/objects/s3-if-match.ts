/** How an etag is sent with `If-Match`: servers differ in which form they understand, if any. */

/** As the standard has it, as older gateways of Ceph compare it, or not at all. */
const FORMS: readonly ((etag: string) => { readonly IfMatch?: string })[] = [
  (etag) => ({ IfMatch: `"${etag}"` }),
  (etag) => ({ IfMatch: etag }),
  () => ({}),
];

/** The form that one server seems to understand: the standard one, until that fails. */
export interface IfMatch {
  readonly parameterFor: (etag: string) => { readonly IfMatch?: string };
  readonly hasOtherForm: () => boolean;
  /** The server refused this form though the object has the etag: from now on, the next form is sent. */
  readonly tryOtherForm: () => void;
  /** The server does not know the condition: from now on, none is sent. */
  readonly leaveOut: () => void;
}

export function createIfMatch(): IfMatch {
  let form = 0;
  return {
    parameterFor: (etag) => FORMS[form]!(etag),
    hasOtherForm: () => form < FORMS.length - 1,
    tryOtherForm: () => {
      form += 1;
    },
    leaveOut: () => {
      form = FORMS.length - 1;
    },
  };
}
