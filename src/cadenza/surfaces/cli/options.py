"""Arguments and options that several commands take."""

from typing import Annotated

from cyclopts import Parameter

AJob = Annotated[str, Parameter(help="The job's id, or its name if no other has it.")]
AnEndpoint = Annotated[str, Parameter(help="The endpoint's id, or its name if no other has it.")]
Reason = Annotated[str | None, Parameter(allow_leading_hyphen=True, help="Why, in words.")]
Labels = Annotated[
    tuple[str, ...],
    Parameter(name="--label", help="NAME=VALUE; several times for several labels."),
]
OfJob = Annotated[str | None, Parameter(name="--job", help="Those of this job, by id or name.")]
Name = Annotated[str | None, Parameter(allow_leading_hyphen=True, help="What people call it.")]
Description = Annotated[str | None, Parameter(allow_leading_hyphen=True, help="What it is for, in words.")]
Id = Annotated[str | None, Parameter(name="--id", help="An id of your choice; one is given if left out.")]
File = Annotated[
    str | None,
    Parameter(help="A JSON file with everything, as the API takes it; - is standard input; options win."),
]
