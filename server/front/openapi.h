/* The API's own description, made from the route table and the action table. */
#pragma once

#include <jansson.h>

/* An OpenAPI 3.1 document. The caller decrefs; NULL without memory. */
json_t *openapi_document(void);
